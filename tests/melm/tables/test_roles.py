"""What the columns of a table are for."""

from __future__ import annotations

import numpy as np
import pytest

from melm.tables.roles import Role, RolesError, assign_roles, labels_of, sort_columns
from melm.tables.table import Cell, Table

N_ROWS = 60
COLUMNS: dict[str, list[Cell]] = {
    "row": list(range(100, 100 + N_ROWS)),
    "patient_id": [(7 * i) % 25 + 1000 for i in range(N_ROWS)],
    "body mass index": [(7 * i) % 25 + 18 for i in range(N_ROWS)],
    "age": [None if i % 9 == 0 else 20 + (i * 17) % 50 for i in range(N_ROWS)],
    "time": [0.5 * i for i in range(N_ROWS)],
    "color": ["red", "blue", None] * (N_ROWS // 3),
    "note": [f"remark {i % 50}" for i in range(N_ROWS)],
    "site": ["Oslo"] * N_ROWS,
    "empty": [None] * N_ROWS,
    "sick": ["yes", "no"] * (N_ROWS // 2),
}


@pytest.mark.parametrize(
    ("name", "role", "word"),
    [
        ("row", Role.ID, "all values differ and increase"),
        ("patient_id", Role.GROUP, "25 values repeat"),
        ("body mass index", Role.NUMERIC, "numbers"),
        ("age", Role.NUMERIC, "7 missing"),
        ("time", Role.NUMERIC, "numbers"),
        ("color", Role.CATEGORICAL, "2 values"),
        ("note", Role.IGNORE, "too many"),
        ("site", Role.IGNORE, "same in every row"),
        ("empty", Role.IGNORE, "no value at all"),
        ("sick", Role.TARGET, "set by the caller"),
    ],
)
def test_roles_are_proposed_with_a_reason(name: str, role: Role, word: str) -> None:
    proposal = assign_roles(Table.of_cells(COLUMNS), target="sick")[name]
    assert proposal.role is role
    assert word in proposal.reason


@pytest.mark.parametrize(("most_frequent", "role"), [(4, Role.IGNORE), (40, Role.CATEGORICAL)])
def test_many_values_of_which_none_is_frequent_make_no_category(most_frequent: int, role: Role) -> None:
    """Such as the registrations of planes: all of them would be "other", which says nothing."""
    planes: list[Cell] = [*(f"N{i % 110}" for i in range(440)), *["N0"] * (most_frequent - 4)]
    assert assign_roles(Table.of_cells({"plane": planes}))["plane"].role is role


def test_roles_are_settable() -> None:
    roles = assign_roles(Table.of_cells(COLUMNS), {"row": "numeric", "age": "categorical", "patient_id": "id"}, "sick")
    found = sort_columns(Table.of_cells(COLUMNS), roles)
    assert found.features.names == ("row", "body mass index", "age", "time", "color")
    assert found.features.text_names == ("age", "color")
    assert found.id_name == "patient_id"
    assert found.groups is None
    assert found.labels is not None
    assert found.labels.tolist() == COLUMNS["sick"]


def test_an_id_is_no_feature_and_one_is_enough() -> None:
    columns: dict[str, list[Cell]] = {
        "a": list(range(20)),
        "b": list(range(20)),
        "uuid": [f"k{i * 7 % 20}" for i in range(20)],
        "x": [float(i % 3) for i in range(20)],
    }
    table = Table.of_cells(columns)
    roles = assign_roles(table)
    assert [roles[name].role for name in columns] == [Role.ID, Role.IGNORE, Role.IGNORE, Role.NUMERIC]
    assert "another column" in roles["b"].reason
    assert sort_columns(table, roles).features.names == ("x",)


def test_ids_with_more_digits_than_a_number_holds() -> None:
    table = Table.of_cells({"key": [str(10**20 + i) for i in range(12)], "x": [1.5] * 12})
    found = sort_columns(table, assign_roles(table))
    assert found.ids is not None
    assert found.ids.tolist() == [str(10**20 + i) for i in range(12)]


def test_everything_wrong_with_roles_is_said_at_once() -> None:
    table = Table.of_cells({"a": [1.0], "b": ["x"]})
    with pytest.raises(RolesError) as caught:
        assign_roles(table, {"c": "id", "a": "feature"})
    assert [column for column, _ in caught.value.problems] == ["c", "a"]
    with pytest.raises(RolesError, match="only one column"):
        assign_roles(table, {"a": "target", "b": "target"})
    with pytest.raises(RolesError, match="not numeric"):
        sort_columns(table, assign_roles(table, {"b": "numeric"}))


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        (["1", "2", "1"], [1, 2, 1]),
        (["01", "2", "1"], ["01", "2", "1"]),
        ([1.0, 2.0, 1.0], [1, 2, 1]),
        ([0.5, 1], [0.5, 1]),
    ],
)
def test_labels_keep_their_kind(written: list[Cell], labels: list[object]) -> None:
    assert labels_of(Table.of_cells({"y": written}), "y").tolist() == labels


def test_a_row_without_a_label_is_named() -> None:
    with pytest.raises(RolesError, match="row index 1, column 'y'"):
        labels_of(Table.of_cells({"y": ["a", None]}), "y")


def test_a_table_of_numbers_is_not_copied() -> None:
    numbers = np.random.default_rng(0).standard_normal((20, 3))
    table = Table.of_numbers(numbers)
    assert sort_columns(table, assign_roles(table)).features.numbers is numbers
