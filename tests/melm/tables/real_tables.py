"""Two tables that everybody knows, with the missing values and rare categories that real tables have."""

from __future__ import annotations

import numpy as np
from palmerpenguins import load_penguins

from melm.tables.table import Cell, Table

TITANIC_ROWS = 1309


def penguins() -> tuple[Table, list[str]]:
    """344 penguins: two lack all measurements, eleven their sex."""
    frame = load_penguins()
    species = frame.pop("species").tolist()
    cells = {name: [None if cell != cell else cell for cell in frame[name].tolist()] for name in frame}
    return Table.of_cells(cells), species


def titanic() -> tuple[Table, list[str]]:
    """A table with the structure of the list of 1,309 passengers, and about its frequencies.

    One fare and two ports are missing, a fifth of the ages, most cabins; cabins are shared by up to six.
    """
    generator = np.random.default_rng(1912)
    grade = generator.choice([1, 2, 3], TITANIC_ROWS, p=[0.247, 0.212, 0.541])
    is_woman = generator.random(TITANIC_ROWS) < 0.356
    survived = generator.random(TITANIC_ROWS) < 0.1 + 0.5 * is_woman + 0.12 * (3 - grade)
    age = np.clip(generator.normal(42 - 6 * grade, 13), 0.2, 80).round()
    fare = generator.lognormal(4.3 - 0.75 * grade + 0.35, 0.5).round(2)
    relatives = generator.poisson(0.45, (TITANIC_ROWS, 2))
    port = generator.choice(["C", "Q", "S"], TITANIC_ROWS, p=[0.206, 0.094, 0.7])
    has_cabin = generator.random(TITANIC_ROWS) < np.where(grade == 1, 0.8, 0.06)
    shared = np.cumsum(has_cabin) // 6  # passengers of one cabin stand one below the other, and share their fate
    survived[has_cabin] = (shared[has_cabin] % 3 > 0) ^ (generator.random(has_cabin.sum()) < 0.1)
    cabin = [f"C{number}" if there else None for number, there in zip(shared, has_cabin, strict=True)]
    ages: list[Cell] = [None if generator.random() < 0.2 else float(a) for a in age]
    fares: list[Cell] = [None if i == 1225 else float(f) for i, f in enumerate(fare)]
    ports: list[Cell] = [None if i in (168, 284) else str(p) for i, p in enumerate(port)]
    columns: dict[str, list[Cell]] = {
        "pclass": grade.tolist(),
        "sex": ["female" if w else "male" for w in is_woman],
        "age": ages,
        "sibsp": relatives[:, 0].tolist(),
        "parch": relatives[:, 1].tolist(),
        "fare": fares,
        "cabin": list(cabin),
        "embarked": ports,
    }
    return Table.of_cells(columns), ["yes" if s else "no" for s in survived]
