"""Large data sets: whole fits from coarse to fine, their memory, and prediction by many rows."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
from scipy.stats import gaussian_kde

import melm.density
from bench.measurement import Measurement, best_seconds
from melm.data.labeled import Labeled
from melm.estimator import MELM
from melm.model import Model
from melm.model import file as model_file
from melm.objective.divergence import WhitenedDivergence
from melm.typing import Array

N_STARTS = 16


def measurements(quick: bool) -> Iterator[Measurement]:
    """All of this part, one by one."""
    yield from fits(quick)
    yield against_all_rows(quick)
    yield two_processes(quick)
    yield from extra_memory(quick)
    yield from prediction(quick)


def clusters(n_rows: int, n_features: int = 30) -> tuple[Array, npt.NDArray[np.int64]]:
    """Two classes of three clusters each in six dimensions, mixed into all features."""
    generator = np.random.default_rng(0)
    mixing = generator.standard_normal((n_features, n_features)) / np.sqrt(n_features)
    centers = 1.3 * generator.standard_normal((2, 3, 6))
    y = generator.integers(2, size=n_rows)
    X = generator.standard_normal((n_rows, n_features))
    X[:, :6] += centers[y, generator.integers(3, size=n_rows)]
    X[:, 6] *= 1 + y
    return X @ mixing, y


def timed_fit(n_rows: int, clock: Callable[[], float] = time.process_time, **options: object) -> tuple[MELM, float]:
    """A fit of the benchmark's data, and the seconds it took: of the processor, which other programs hardly disturb."""
    X, y = clusters(n_rows)
    began = clock()
    fitted = MELM(regularization=None, n_starts=N_STARTS, random_state=0, **options).fit(X, y)  # type: ignore[arg-type]
    return fitted, clock() - began


def fits(quick: bool) -> Iterator[Measurement]:
    """A whole fit against one evaluation on all rows, its growth, and the size of the model it leaves."""
    largest = 200_000 if quick else 1_000_000
    _, few = timed_fit(10_000)
    fitted, many = timed_fit(largest)
    X, y = clusters(largest)
    prepared = Labeled.check(X, y).prepare("ledoit_wolf")
    objective, V = WhitenedDivergence(prepared, 2), prepared.to_whitened(fitted.projection_)
    began = time.process_time()
    for _ in range(5):
        objective.value_and_gradient(V)
    evaluation = (time.process_time() - began) / 5
    spent = fitted.model_.card.model_dump()["search"]["n_evaluations_on_all_rows"]
    yield Measurement(
        f"Fit of {largest:,} x 30 with {N_STARTS} starts, in evaluations on all rows",
        many / evaluation,
        at_most=None if quick else 60,
        note=f"{many:.1f} s; {spent} evaluations were on all rows",
    )
    yield Measurement(
        f"Fit from 10,000 to {largest:,} rows grows as n to the power of",
        float(np.log(many / few) / np.log(largest / 10_000)),
        at_most=1.1,
        note=f"{few:.1f} s and {many:.1f} s",
    )
    stored = fitted.model_.card.model_dump()["density"]
    yield Measurement(
        f"Model of {largest:,} rows, megabytes",
        len(model_file.dump(fitted.model_)) / 1e6,
        at_most=1,
        note=f"{stored['n_stored_rows']:,} rows; log densities change by {stored['log_density_error']:.1e}, "
        f"labels of {stored['labels_changed']:.2%}",
    )


def against_all_rows(quick: bool) -> Measurement:
    """The divergence against that of all starts converged on all rows."""
    n_rows = 40_000 if quick else 100_000
    fitted, seconds = timed_fit(n_rows)
    plain, plain_seconds = timed_fit(n_rows, race=False)
    return Measurement(
        f"Fit of {n_rows:,} x 30: share of the divergence that {N_STARTS} starts reach on all rows",
        fitted.divergence_ / plain.divergence_,
        at_least=0.999,
        note=f"{seconds:.1f} s against {plain_seconds:.1f} s",
    )


def two_processes(quick: bool) -> Measurement:
    """The same fit by one process and by two, which are there before."""
    n_rows = 40_000 if quick else 100_000
    timed_fit(1000, n_jobs=2)
    _, one = timed_fit(n_rows, time.perf_counter)
    _, two = timed_fit(n_rows, time.perf_counter, n_jobs=2)
    return Measurement(
        f"Fit of {n_rows:,} x 30 by two processes of the library (n_jobs=2), times one", two / one, note=f"{one:.1f} s"
    )


def extra_memory(quick: bool) -> Iterator[Measurement]:
    """Peak memory of a whole fit beyond the data, in a process of its own."""
    n_rows = 200_000 if quick else 1_000_000
    for dtype in ("float64", "float32"):
        program = f"""
import numpy as np
from bench.measurement import peak_bytes
from melm import MELM
generator = np.random.default_rng(0)
X, y = np.empty(({n_rows}, 30), dtype="{dtype}"), generator.integers(2, size={n_rows})
for begin in range(0, {n_rows}, 10_000):
    X[begin : begin + 10_000] = generator.standard_normal((10_000, 30))
X[:, 0] += 2 * y
X[:, 1] *= 1 + y
MELM(regularization=None, n_starts=2, random_state=0).fit(X[:2000], y[:2000])
before = peak_bytes()
MELM(regularization=None, n_starts=2, random_state=0).fit(X, y)
print((peak_bytes() - before) / X.nbytes)
"""
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        yield Measurement(
            f"Peak memory of a fit of {n_rows:,} x 30 {dtype} beyond the data, times the data",
            float(run.stdout),
            at_most=1.5,
        )


def prediction(quick: bool) -> Iterator[Measurement]:
    """`predict` for as many rows as the model was fitted to, against scipy and against the sum over all rows."""
    n_rows = 100_000
    X, y = clusters(2 * n_rows)
    model: Model = MELM(regularization=None, n_starts=1, random_state=0).fit(X[:n_rows], y[:n_rows]).model_
    queries = X[n_rows:]
    ours = best_seconds(lambda: model.predict(queries), 3)
    kernels = [gaussian_kde(rows.T) for rows in model.densities.rows]
    part = model.transform(queries[:500]).T
    theirs = best_seconds(lambda: [kernel.logpdf(part) for kernel in kernels], 1) * n_rows / part.shape[1]
    name = f"Prediction of {n_rows:,} rows by a model of {n_rows:,}"
    yield Measurement(
        f"{name}, times faster than scipy's gaussian_kde",
        theirs / ours,
        at_least=50,
        note=f"{ours:.2f} s against {theirs:.0f} s, from {part.shape[1]} rows",
    )
    judged = queries[: 10_000 if quick else n_rows]
    labels = model.predict(judged)
    with patch.object(melm.density, "EXACT_PAIRS", 2**62):
        exact = model.predict(judged)
    yield Measurement(
        f"{name}, share of labels equal to the exact sum's", float((labels == exact).mean()), at_least=0.9999
    )
