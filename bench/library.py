"""The library: one evaluation, the race, and what an import costs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np

from bench.measurement import Measurement, best_seconds
from melm.data.prepared_rows import PreparedRows
from melm.data.rows import equal_shares
from melm.estimator import MELM
from melm.objective.divergence import WhitenedDivergence
from melm.objective.potential import Gradient
from melm.objective.potential.exact import ExactPotential
from melm.objective.potential.pairs import PairwisePotentials
from melm.typing import Array

PAPER_DATA = Path(__file__).parents[2] / "shared" / "data" / "paper"


def measurements(quick: bool) -> Iterator[Measurement]:
    """All of this part, one by one."""
    yield from evaluation(quick)
    yield from against_published_gradient()
    yield many_classes()
    yield extra_memory(quick)
    yield from race(quick)
    yield import_cost()


def two_classes(n_rows: int, n_features: int) -> tuple[Array, np.ndarray[tuple[int], np.dtype[np.int_]]]:
    """Overlapping Gaussians."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((n_rows, n_features))
    y = generator.integers(0, 2, n_rows)
    X += 0.5 * y[:, None]
    return X, y


def evaluation(quick: bool) -> Iterator[Measurement]:
    """Value and gradient at k = 2 and d = 30, from ten thousand rows to a million."""
    largest = 100_000 if quick else 1_000_000
    V = np.linalg.qr(np.random.default_rng(1).standard_normal((30, 2)))[0]
    seconds = {}
    for n_rows in (10_000, largest):
        X, y = two_classes(n_rows, 30)
        objective = WhitenedDivergence(PreparedRows.prepare(X, y, 2, "ledoit_wolf"), 2)
        seconds[n_rows] = best_seconds(lambda: objective.value_and_gradient(V))  # noqa: B023 - called at once
    Z = X @ V
    passes = best_seconds(lambda: (X @ V, X.T @ Z))
    exponent = float(np.log(seconds[largest] / seconds[10_000]) / np.log(largest / 10_000))
    yield Measurement(
        f"Evaluation from 10,000 to {largest:,} rows grows as n to the power of", float(exponent), at_most=1.1
    )
    yield Measurement(
        f"Evaluation at {largest:,} x 30, times two plain matrix passes over X",
        seconds[largest] / passes,
        at_most=6.0,
        note=f"{seconds[largest] * 1e3:.0f} ms against {passes * 1e3:.0f} ms",
    )


def potential_by_rows(A: Array, B: Array, S: Array, V: Array) -> float:
    """The sum of kernels of all pairs, vectorized for each row."""
    inverse = np.linalg.inv(S)
    ZA, ZB = A @ V, B @ V
    return float(sum(np.exp(-0.5 * ((z - ZB) @ inverse * (z - ZB)).sum(axis=1)).sum() for z in ZA))


def slope_by_rows(A: Array, B: Array, H: Array, S: Array, V: Array) -> Array:
    """Its derivative in V as published: differences of pairs in d dimensions, vectorized for each row."""
    inverse = np.linalg.inv(S)
    slope = np.zeros_like(V)
    for a in A:
        differences = a - B  # (n, d)
        projected = differences @ V  # (n, k)
        density = np.exp(-0.5 * (projected @ inverse * projected).sum(axis=1))
        slope -= differences.T @ (density[:, None] * projected) @ inverse
    return slope - H @ V @ inverse @ (V.T @ slope)


def against_published_gradient() -> Iterator[Measurement]:
    """One value and gradient at 1,000 x 60 against the published formulas, as the authors' code reads them.

    Value and derivative are two functions there; each sums the potentials by itself, the derivative because it divides
    by them. (Covariances are given here; that code estimates them again in every call.)
    """
    X, y = two_classes(1000, 60)
    prepared = PreparedRows.prepare(X, y, 2, "ledoit_wolf")
    objective = WhitenedDivergence(prepared, 2)
    V = np.linalg.qr(np.random.default_rng(1).standard_normal((60, 2)))[0]
    classes = [X[y == 0], X[y == 1]]
    H = [np.cov(rows.T, bias=True) for rows in classes]
    pairs = [(classes[a], classes[b], H[a] + H[b], V.T @ (H[a] + H[b]) @ V) for a, b in ((0, 0), (1, 1), (0, 1))]

    def published() -> None:
        for A, B, _, S in pairs:  # the value
            potential_by_rows(A, B, S, V)
        for A, B, sum_of_covariances, S in pairs:  # the derivative
            slope_by_rows(A, B, sum_of_covariances, S, V) / potential_by_rows(A, B, S, V)

    def gradient_alone() -> None:
        for A, B, sum_of_covariances, S in pairs:
            slope_by_rows(A, B, sum_of_covariances, S, V)

    ours = best_seconds(lambda: objective.value_and_gradient(V), 50)
    for rival, run, least in (("formulas", published, 100), ("gradient loop alone", gradient_alone, None)):
        theirs = best_seconds(run, 3)
        note = f"{ours * 1e3:.2f} ms against {theirs * 1e3:.0f} ms"
        name = f"Evaluation at 1,000 x 60, times faster than the published {rival}"
        yield Measurement(name, theirs / ours, at_least=least, note=note)


def many_classes() -> Measurement:
    """All pairs of 15 classes together, against each pair by itself."""
    generator = np.random.default_rng(0)
    Z = [generator.standard_normal((19, 2)) + generator.standard_normal(2) for _ in range(15)]
    S, shares = np.stack([0.1 * np.eye(2)] * 15), equal_shares(Z)
    pairs = list(combinations_with_replacement(range(15), 2))
    weights = dict.fromkeys(pairs, 1.0)

    def together() -> None:
        PairwisePotentials(Z, S, shares).add_gradient(weights, Gradient.zeros(Z))

    def one_by_one() -> None:
        gradient = Gradient.zeros(Z)
        for pair in pairs:
            ExactPotential(pair, Z, S, shares).add_gradient({pair: 1.0}, gradient)

    ours, theirs = best_seconds(together, 50), best_seconds(one_by_one, 10)
    note = f"{ours * 1e3:.1f} ms against {theirs * 1e3:.1f} ms"
    return Measurement(
        "285 rows in 15 classes, all pairs at once, times faster than one by one", theirs / ours, note=note
    )


def extra_memory(quick: bool) -> Measurement:
    """Peak memory of preparing and evaluating, beyond the data, in a process of its own."""
    n_rows = 200_000 if quick else 1_000_000
    program = f"""
import numpy as np
from bench.library import two_classes
from bench.measurement import peak_bytes
from melm.objective.divergence import WhitenedDivergence
from melm.data.prepared_rows import PreparedRows
X, y = two_classes({n_rows}, 30)
V = np.linalg.qr(np.random.default_rng(1).standard_normal((30, 2)))[0]
WhitenedDivergence(PreparedRows.prepare(X[:1000], y[:1000], 2, "ledoit_wolf"), 2, form="spectral").value_and_gradient(V)
before = peak_bytes()
WhitenedDivergence(PreparedRows.prepare(X, y, 2, "ledoit_wolf"), 2).value_and_gradient(V)
print((peak_bytes() - before) / X.nbytes)
"""
    share = float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
    return Measurement(
        f"Peak memory of an evaluation at {n_rows:,} x 30 beyond the data, times the data", share, at_most=3
    )


def race(quick: bool) -> Iterator[Measurement]:
    """The race against 40 converged starts on the paper's data sets, mean over seeds."""
    files = sorted(PAPER_DATA.glob("*.csv"))
    if not files:
        print(f"  (the race needs the paper's data sets in {PAPER_DATA.name}/: left out)")
        return
    seeds = range(1 if quick else 10)
    shares, spent, full = {}, 0, 0
    for file in files:
        table = np.loadtxt(file, delimiter=",", skiprows=1)
        X, y = table[:, :-1], table[:, -1]
        reached = []
        for seed in seeds:
            raced = MELM(regularization=None, n_starts=40, random_state=seed).fit(X, y)
            converged = MELM(regularization=None, n_starts=40, random_state=seed, race=False).fit(X, y)
            reached.append(raced.divergence_ / converged.divergence_)
            spent += sum(start.n_evaluations for start in raced.starts_)
            full += sum(start.n_evaluations for start in converged.starts_)
        shares[file.stem] = float(np.mean(reached))
        print(f"    {file.stem}: {shares[file.stem]:.4f}", flush=True)
    worst = min(shares, key=lambda name: shares[name])
    note = f"the lowest of ten, {worst}"
    yield Measurement(
        "Race: share of the best divergence of 40 converged starts", shares[worst], at_least=0.995, note=note
    )
    yield Measurement("Race: share of their evaluations, summed over ten data sets", spent / full, at_most=0.5)


def import_cost() -> Measurement:
    """Loading the estimator against loading what it must load."""

    def seconds(statement: str) -> float:
        return best_seconds(lambda: subprocess.run([sys.executable, "-c", statement], check=True), 7)

    nothing = seconds("pass")
    ours = seconds("from melm import MELM") - nothing
    floor = seconds("import sklearn.base, scipy.optimize") - nothing
    return Measurement(
        "Import of the estimator, times sklearn.base and scipy.optimize alone", ours / floor, at_most=1.15
    )
