"""The guess of the target: by name in many languages, and by what the numbers of a table tell apart."""

from __future__ import annotations

import numpy as np
import palmerpenguins
import pytest

from melm.tables.csv_table import read_csv
from melm.tables.roles import assign_roles
from melm.tables.table import Table
from melm.tables.target import guess_target

PENGUINS = palmerpenguins.load_penguins()
GERMAN = {"species": "Art", "island": "Insel", "sex": "Geschlecht", "year": "Jahr"}
FINNISH = {"species": "Laji", "island": "Saari", "sex": "Sukupuoli", "year": "Vuosi"}


def guessed(table: Table) -> list[str]:
    """All candidates, the likeliest first."""
    return [each.name for each in guess_target(table, assign_roles(table))]


@pytest.mark.parametrize(("names", "target"), [({}, "species"), (GERMAN, "Art"), (FINNISH, "Laji")])
def test_penguins(names: dict[str, str], target: str) -> None:
    table = read_csv([PENGUINS.rename(columns=names).to_csv(index=False).encode()])
    assert guessed(table)[0] == target
    assert names.get("sex", "sex") in guessed(table)[1:]


def test_a_column_that_most_rows_lack_is_no_target() -> None:
    """As the lifeboat of the Titanic is none, though it tells who survived."""
    random = np.random.default_rng(0)
    survived = random.integers(0, 2, 200)
    table = Table.of_cells(
        {
            "pclass": random.integers(1, 4, 200).tolist(),
            "survived": survived.tolist(),
            "sex": random.choice(["male", "female"], 200).tolist(),
            "age": random.normal(30, 9, 200).tolist(),
            "boat": [str(random.integers(1, 9)) if each else None for each in survived],
        }
    )
    assert guessed(table)[0] == "survived"
    assert guessed(table.select(["pclass", "sex", "age", "boat"]))[0] != "boat"


def test_a_quantity_is_no_target() -> None:
    table = Table.of_cells({"x": [0.5, 1.5, 2.5, 3.5], "y": [1.5, 2.5, 1.5, 2.5]})
    assert guessed(table) == []
