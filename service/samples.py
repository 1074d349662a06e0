"""The sample datasets of scikit-learn, as CSV tables."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Sample:
    """A sample dataset."""

    name: str
    title: str
    description: str
    target: str  # the column of labels
    loader: str  # in sklearn.datasets

    def load(self) -> Any:
        """scikit-learn's bunch. The import is here because it is slow and rarely needed."""
        from sklearn import datasets

        return getattr(datasets, self.loader)()


SAMPLES = {
    sample.name: sample
    for sample in (
        Sample(
            "wdbc",
            "Breast tumors",
            "Cell nuclei under the microscope, malignant or benign.",
            "diagnosis",
            "load_breast_cancer",
        ),
        Sample("wine", "Wines", "Chemical analysis of wines from three growers.", "cultivar", "load_wine"),
        Sample("digits", "Digits", "Handwritten digits, 8 by 8 pixels each.", "digit", "load_digits"),
        Sample("iris", "Irises", "Sepals and petals of three species.", "species", "load_iris"),
    )
}


@cache
def shape(name: str) -> tuple[int, int, int]:
    """The numbers of rows, features and classes. Constant columns, such as the border of the digits, do not count."""
    bunch = SAMPLES[name].load()
    n_features = int((bunch.data != bunch.data[0]).any(axis=0).sum())
    return len(bunch.data), n_features, len(bunch.target_names)


@cache
def as_csv(name: str) -> str:
    """A sample as CSV: a header row, the features, and the labels as the last column."""
    bunch = SAMPLES[name].load()
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*bunch.feature_names, SAMPLES[name].target])
    labels = bunch.target_names[bunch.target].tolist()
    writer.writerows([*row, label] for row, label in zip(bunch.data.tolist(), labels, strict=True))
    return text.getvalue()
