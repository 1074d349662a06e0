"""Data sets as CSV files: the paper's ten from a folder or from OpenML, and how any of them is read."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.paper.published import SHAPES
from melm.typing import Array

# Where a set has another name there, or another version of the same name comes first.
OPENML_NAMES = {
    "australian": "Australian",
    "fourclass": "fourclass_scale",
    "heart": "heart-statlog",
}


class NoData(Exception):
    """A data set is not there, or is not what it should be."""


@dataclass(frozen=True)
class DataSet:
    """Labeled rows."""

    name: str
    X: Array  # (n, d)
    codes: npt.NDArray[np.intp]  # (n,), 0 to C - 1


def find_folder(given: Path | None, names: Sequence[str], downloads: Path, fetch: Callable[[str, Path], None]) -> Path:
    """The folder that holds `name.csv` of all these data sets: the given one, or the one that they are fetched into.

    All of them are looked at, so that one that is not the paper's is known before any work is done.
    """
    folder = given or downloads
    missing = [name for name in names if not (folder / f"{name}.csv").is_file()]
    if missing and folder != downloads:
        raise NoData(f"{folder} has no {', '.join(f'{name}.csv' for name in missing)}.")
    for name in missing:
        fetch(name, downloads)
    for name in names:
        load(folder, name)
    return folder


@cache
def load(folder: Path, name: str) -> DataSet:
    """Read `name.csv`: a header row, features, and the label in the last column."""
    path = folder / f"{name}.csv"
    with path.open(newline="") as lines:
        _, *rows = csv.reader(lines)
    try:
        X = np.array([row[:-1] for row in rows], dtype=np.float64)
    except ValueError as error:
        raise NoData(f"{path}: every feature must be a number: {error}.") from None
    if name in SHAPES and X.shape != SHAPES[name]:
        n_rows, n_features = SHAPES[name]
        raise NoData(f"{path}: shape {X.shape}, but the paper's {name} has {n_rows} rows of {n_features} features.")
    labels, codes = np.unique([row[-1] for row in rows], return_inverse=True)
    if len(labels) < 2 or (name in SHAPES and len(labels) > 2):
        raise NoData(f"{path}: two labels are needed in the last column, got {len(labels)}.")
    return DataSet(name, X, codes.astype(np.intp))


def download(name: str, folder: Path) -> None:
    """Write `name.csv` of one of the paper's data sets from OpenML."""
    from sklearn.datasets import fetch_openml

    try:
        fetched: Any = fetch_openml(OPENML_NAMES.get(name, name), as_frame=False, parser="liac-arff")
    except Exception as error:
        raise NoData(
            f"{name} could not be fetched from OpenML ({error}). Name a folder with CSV files: make paper DATA=folder."
        ) from None
    write(name, folder, fetched.feature_names, fetched.data, fetched.target)


def write(name: str, folder: Path, features: Sequence[str], X: npt.NDArray[Any], labels: npt.NDArray[Any]) -> None:
    """Write `name.csv`, which `load` reads."""
    rows = np.column_stack([X.astype(str), labels.astype(str)])
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="") as lines:
        csv.writer(lines).writerows([[*features, "label"], *rows.tolist()])
