"""How tables are read and columns understood: the modules of the page, called in the browser."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page


def parse(page: Page, text: str) -> dict[str, Any]:
    script = "async (text) => (await import(new URL('web/csv.js', document.baseURI))).parseTable(text)"
    table: dict[str, Any] = page.evaluate(script, text)
    return table


def roles(page: Page, text: str) -> dict[str, str]:
    script = """async (text) => {
        const [csv, columns] = await Promise.all(
            ["csv", "columns"].map((name) => import(new URL(`web/${name}.js`, document.baseURI))));
        return columns.proposeRoles(csv.parseTable(text)).map(({ name, role }) => [name, role]);
    }"""
    return dict(page.evaluate(script, text))


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("a,b\n1,2\n", ["a", "b"], [["1", "2"]]),
        ("\ufeffa;b\r\n1,5;2\r\n", ["a", "b"], [["1.5", "2"]]),
        ("a\tb\n1.234,5\tx\n", ["a", "b"], [["1234.5", "x"]]),
        ('"a, b",c\n"say ""hi""",2\n', ["a, b", "c"], [['say "hi"', "2"]]),
        ("1,2\n3,4\n", ["column 1", "column 2"], [["1", "2"], ["3", "4"]]),
        ("a,a,\n1,2,3\n", ["a", "a 2", "column 3"], [["1", "2", "3"]]),
    ],
)
def test_tables_as_programs_write_them(page: Page, text: str, names: list[str], rows: list[list[str]]) -> None:
    table = parse(page, text)
    assert (table["names"], table["rows"]) == (names, rows)


def test_columns_get_the_role_that_their_values_suggest(page: Page) -> None:
    lines = [
        f"{i},{i * 0.7},{i * i},{'red' if i % 2 else 'blue'},{'good' if i % 3 else 'bad'},7," for i in range(1, 13)
    ]
    text = "\n".join(["id,weight,size,color,class,version,notes", *lines])
    assert roles(page, text) == {
        "id": "id",
        "weight": "numeric",
        "size": "numeric",
        "color": "categorical",
        "class": "target",
        "version": "ignore",
        "notes": "ignore",
    }


def test_whole_numbers_in_the_last_column_can_be_classes(page: Page) -> None:
    text = "\n".join(["a,b", *(f"{i * 0.5},{i % 3}" for i in range(12))])
    assert roles(page, text) == {"a": "numeric", "b": "target"}
