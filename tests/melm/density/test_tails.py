"""Kernels are narrower where tails are heavy, and only there."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.neighbors import KNeighborsClassifier

from melm.data.rows import equal_shares
from melm.density.tails import FEWEST_ROWS, HEAVY, NARROWEST, narrowing
from melm.evidence.evaluate import balanced_accuracy
from melm.methods import fit
from melm.typing import Array

GENERATOR = np.random.default_rng(0)
NORMAL = [GENERATOR.standard_normal((80, 3)) * [1, 5, 0.2] + code for code in range(2)]
HEAVY_TAILED = [np.exp(1.8 * GENERATOR.standard_normal((80, 3))) for _ in range(2)]


def narrow(rows: list[Array]) -> float:
    return narrowing(rows, equal_shares(rows))


def test_rows_without_tails_keep_their_kernels() -> None:
    assert narrow(NORMAL) == 1
    assert narrow([np.where(Z > 0, 3.0, -1.0) for Z in NORMAL]) == 1


def test_heavy_tails_narrow_all_kernels() -> None:
    assert NARROWEST < narrow(HEAVY_TAILED) < HEAVY


def test_it_is_the_same_for_every_invertible_map() -> None:
    A = GENERATOR.standard_normal((3, 3))
    assert narrow([Z @ A + 7 for Z in HEAVY_TAILED]) == pytest.approx(narrow(HEAVY_TAILED), rel=1e-9)


def test_weights_count_rows_several_times() -> None:
    counts = [np.arange(len(Z)) % 3 + 1 for Z in HEAVY_TAILED]
    repeated = [np.repeat(Z, n, axis=0) for Z, n in zip(HEAVY_TAILED, counts, strict=True)]
    weighed = narrowing(HEAVY_TAILED, [n / n.sum() for n in counts])
    assert weighed == pytest.approx(narrow(repeated), rel=1e-9)


def test_few_rows_show_no_tails() -> None:
    assert narrow([Z[: FEWEST_ROWS - 1] for Z in HEAVY_TAILED]) == 1


def test_rows_that_do_not_vary_and_directions_in_which_they_do_not() -> None:
    assert narrow([np.ones((40, 2)), np.zeros((40, 2))]) == 1
    flat = [np.column_stack([Z, Z[:, 0]]) for Z in HEAVY_TAILED]
    assert narrow(flat) == pytest.approx(narrow(HEAVY_TAILED), rel=1e-6)


def test_rows_of_which_most_are_alike_have_a_bound() -> None:
    rows = [np.where(np.arange(80)[:, None] % 10, 0.0, Z) for Z in HEAVY_TAILED]
    assert narrow(rows) == pytest.approx(NARROWEST)


Tails = Literal["lognormal", "cauchy", "pareto"]


def zeros_and_tails(tails: Tails, seed: int, n_features: int, zeros: float) -> tuple[Array, npt.NDArray[np.intp]]:
    """Classes that differ in how many zeros some features have, and in how large the rest is."""
    generator = np.random.default_rng(seed)
    codes = np.arange(3000) % 2
    informative = min(n_features, 30) // 2
    sign = np.repeat([1, -1, 0], [-(-informative // 2), informative // 2, n_features - informative])
    shape = (len(codes), n_features)
    drawn: dict[Tails, Array] = {
        "lognormal": np.exp(1.5 * generator.standard_normal(shape)),
        "cauchy": np.abs(generator.standard_cauchy(shape)),
        "pareto": 1 + generator.pareto(1.5, shape),
    }
    X = drawn[tails] * np.exp(0.9 * codes[:, None] * sign)
    X[generator.random(shape) < zeros - 0.25 * codes[:, None] * sign] = 0
    return X, codes


@pytest.mark.parametrize("regularization", ["path", None])
@pytest.mark.parametrize(
    ("tails", "seed", "n_features", "zeros"),
    [
        ("lognormal", 0, 12, 0.7),
        ("lognormal", 1, 57, 0.8),
        ("cauchy", 2, 12, 0.7),
        ("cauchy", 3, 30, 0.8),
        ("pareto", 4, 8, 0.6),
        ("pareto", 5, 20, 0.8),
    ],
)
def test_three_components_are_classified_as_neighbors_would(
    tails: Tails, seed: int, n_features: int, zeros: float, regularization: Literal["path"] | None
) -> None:
    X, codes = zeros_and_tails(tails, seed, n_features, zeros)
    seen, new = slice(400), slice(400, None)
    quick = {"ridge": 1.0, "max_iterations": 16} if regularization == "path" else {"n_starts": 4}
    model = fit("melm", X[seen], codes[seen], n_components=3, regularization=regularization, **quick)
    Z = model.transform(X) / model.transform(X[seen]).std(axis=0)
    by_neighbors = balanced_accuracy(codes[new], KNeighborsClassifier().fit(Z[seen], codes[seen]).predict(Z[new]))
    assert balanced_accuracy(codes[new], model.predict(X[new])) > by_neighbors - 0.05
