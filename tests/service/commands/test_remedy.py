"""Parameters in fixes become options that can be typed."""

from __future__ import annotations

import pytest

from service.commands.remedy import as_options


@pytest.mark.parametrize(
    ("fix", "options"),
    [
        ("missing_values='n. a.' where it stands for a gap", "--missing-values 'n. a.' where it stands for a gap"),
        (
            "columns={'age': 'categorical'} where the column is text",
            "--columns age=categorical where the column is text",
        ),
        ("columns={\"it's\": 'numeric'}", "--columns 'it'\"'\"'s=numeric'"),
        ("decimal=',' where that separates decimals", "--decimal , where that separates decimals"),
        ("delimiter=';' or another character", "--delimiter ';' or another character"),
        ("encoding='latin-1' or 'cp1252'", "--encoding latin-1 or 'cp1252'"),
        ("delimiter, where cells are not separated by ','", "--delimiter, where cells are not separated by ','"),
        ("missing=impute", "leave out --missing refuse"),
        ("send rows of two classes", "send rows of two classes"),
    ],
)
def test_a_fix_names_options(fix: str, options: str) -> None:
    assert as_options(fix) == options
