"""Tables as they are found, through the client: from file to prediction on a real service."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from melm import MELM
from melm.remote import Client, Dataset, Invalid, Model, RowsWarning
from tests.messy_table import FEATURES, N_ROWS, TARGET, cleaned_by_hand, messy_csv, messy_frame, messy_rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file."""
    path = tmp_path / "messy.csv"
    path.write_bytes(messy_csv())
    return path


@pytest.fixture
def table(client: Client, path: Path) -> Dataset:
    """The file as a dataset."""
    return client.datasets.upload_file(path, target=TARGET)


@pytest.fixture
def model(client: Client, table: Dataset) -> Model:
    """A model of it; every test but the first gets it at once."""
    return client.fits.submit(table, params={"regularization": None, "n_starts": 2, "seed": 3}, validation=None).wait()


def records() -> list[dict[str, Any]]:
    """The rows as a program has them, without the target and what is ignored."""
    frame = messy_frame()[["patient", *FEATURES]]
    return [{name: row[name] for name in reversed(row)} for row in frame.to_dict("records")]


def test_roles_come_with_reasons(client: Client, table: Dataset, path: Path) -> None:
    assert table.columns is not None
    assert {each["name"]: each["role"] for each in table.columns} == {
        "patient": "id",
        "height": "numeric",
        "color": "categorical",
        "zip": "categorical",
        "weight, kg": "numeric",
        "dose": "numeric",
        "clinic": "ignore",
        TARGET: "target",
    }
    assert table.columns[0]["reason"] == "all values differ and increase: id"
    roles = {"zip": "ignore", "dose": "ignore"}
    other = client.datasets.upload_file(path.read_bytes(), target=TARGET, columns=roles, name="fewer columns")
    assert other.name == "fewer columns"
    assert other.columns is not None
    assert other.columns[3]["reason"] == "set by the caller"


def test_the_same_content_is_stored_once(client: Client, table: Dataset, path: Path) -> None:
    assert client.datasets.upload_file(str(path), target=TARGET).id == table.id
    assert client.datasets.upload_file(path.read_bytes(), target=TARGET).id == table.id


def test_raw_rows_get_the_labels_of_the_table_cleaned_by_hand(model: Model, path: Path) -> None:
    X, y = cleaned_by_hand()
    by_hand = MELM(regularization=None, n_starts=2, random_state=3).fit(X, y)
    assert np.array_equal(np.array(model.describe()["projection"]), by_hand.projection_)
    for rows in (records(), messy_frame()[["patient", *FEATURES]], path, path.read_bytes()):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RowsWarning)
            assert np.array_equal(model.predict(rows), by_hand.predict(X))
            assert np.array_equal(model.transform(rows), by_hand.transform(X))
            assert np.array_equal(model.predict_proba(rows), by_hand.predict_proba(X))
            assert np.array_equal(model.log_density(rows), by_hand.log_density(X))
        said = {str(warning.message).rpartition(": ")[2] for warning in caught}
        assert said == (
            {"clinic, finding.", "ocker, türkis."} if isinstance(rows, bytes | Path) else {"ocker, türkis."}
        )
        assert {warning.filename for warning in caught} == {__file__}, "warnings point to the line that asked"


@pytest.mark.filterwarnings("ignore::melm.remote.RowsWarning")
def test_scores_of_raw_rows(model: Model, path: Path) -> None:
    scores = model.score(path, target=TARGET)
    _, y = cleaned_by_hand()
    assert scores["n_rows"] == N_ROWS
    assert "were ignored: clinic." in scores["warnings"][0]
    assert model.score(records(), y)["confusion"] == scores["confusion"]
    assert model.score(messy_frame()[FEATURES], y)["confusion"] == scores["confusion"]
    with pytest.raises(ValueError, match="target"):
        model.score(path)


def test_the_service_warns_about_what_it_has_not_seen(model: Model) -> None:
    with pytest.warns(RowsWarning, match="mauve"):
        model.predict([records()[1] | {"color": "mauve"}])


def test_what_is_wrong_names_the_column(client: Client, model: Model, path: Path) -> None:
    with pytest.raises(Invalid) as caught:
        model.predict([{name: cell for name, cell in records()[1].items() if name not in ("zip", "dose")}])
    assert {error.pointer for error in caught.value.errors} == {"/zip", "/dose"}
    with pytest.raises(Invalid, match="9 values are missing"):
        client.datasets.upload_file(path, target=TARGET, missing="refuse")


def test_rows_by_name_and_frames_are_tables_too(client: Client, table: Dataset) -> None:
    rows = [dict(zip(FEATURES, row[1:6], strict=True)) for row in messy_rows()]
    labels = [row[-1] for row in messy_rows()]
    by_name = client.datasets.upload(rows, labels, columns={"height": "ignore"})
    assert by_name.classes == table.classes
    frame = client.datasets.upload(messy_frame(), target=TARGET)
    assert frame.feature_names == table.feature_names
