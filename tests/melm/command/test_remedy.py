"""Parameters in fixes become options that can be typed."""

from __future__ import annotations

import pytest

from melm.command.remedy import as_options
from melm.tables.problem import Fix


@pytest.mark.parametrize(
    ("fix", "options"),
    [
        (
            Fix("missing_values", "n. a.", "where it stands for a missing value"),
            "--missing-values 'n. a.' where it stands for a missing value",
        ),
        (
            Fix("columns", {"age": "categorical"}, "where the column is text"),
            "--columns age=categorical where the column is text",
        ),
        (Fix("columns", {"it's": "numeric"}), "--columns 'it'\"'\"'s=numeric'"),
        (Fix("decimal", ",", "where that separates decimals"), "--decimal , where that separates decimals"),
        (Fix("delimiter", ";", "or another character"), "--delimiter ';' or another character"),
        (Fix("day_first", True), "--day-first"),
        (Fix("day_first", False, "to confirm it"), "--no-day-first to confirm it"),
    ],
)
def test_a_fix_names_options(fix: Fix, options: str) -> None:
    assert as_options([fix]) == [options]
