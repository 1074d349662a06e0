"""Large data sets: coarse to fine, in bounded memory, from partial sums over blocks of rows."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from melm import MELM
from melm.data import blocks as row_blocks
from melm.data.labeled import Labeled
from melm.methods import METHODS, plan_fit, run_unit
from melm.model import file as model_file
from melm.objective.divergence import WhitenedDivergence
from melm.objective.potential import tiles
from melm.objective.potential.transform import Nonuniform, Separable
from melm.plan import Result, Stage, run_plan
from melm.search import sample
from melm.search.starts import start_projection
from tests.melm.samples import blobs, mixture


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand rows are many."""
    monkeypatch.setattr(sample, "SMALLEST", 300)
    monkeypatch.setattr(sample, "GROWTH", 4)


@pytest.mark.usefixtures("small_samples")
def test_coarse_to_fine_reaches_what_a_race_on_all_rows_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = mixture([3000, 2500], 6)
    fine = MELM(regularization=None, n_starts=8, random_state=0).fit(X, y)
    monkeypatch.setattr(sample, "SMALLEST", 10**9)
    plain = MELM(regularization=None, n_starts=8, random_state=0).fit(X, y)
    assert fine.divergence_ >= 0.999 * plain.divergence_
    found, raced = fine.model_.card.model_dump()["search"], plain.model_.card.model_dump()["search"]
    assert [stage["n_rows"] for stage in found["stages"]] == [300, 300, 1200, 1200, 5500, 5500]
    assert {stage["n_rows"] for stage in raced["stages"]} == {5500}
    assert found["n_evaluations"] == sum(stage["n_evaluations"] for stage in found["stages"])
    assert found["n_evaluations_on_all_rows"] < raced["n_evaluations_on_all_rows"] / 2
    best = next(start for start in found["starts"] if start["start"] == found["best_start"])
    assert (best["n_rows"], best["stopping_reason"]) == (5500, "converged")
    assert best["divergence"] == pytest.approx(fine.divergence_, rel=1e-6)


@pytest.mark.usefixtures("small_samples")
def test_the_plan_gives_the_same_bytes_wherever_its_units_run() -> None:
    X, y = mixture([900, 700], 5)
    parameters = METHODS["melm"].Parameters(regularization=None, n_starts=4, seed=3)

    def fit() -> bytes:
        def run_stage(stage: Stage) -> Sequence[Result | None]:  # each unit by a worker that knows nothing yet
            return [run_unit("melm", Labeled.check(X, y), parameters, unit) for unit in reversed(stage.units)][::-1]

        return model_file.dump(run_plan(plan_fit("melm", Labeled.check(X, y), parameters), run_stage))

    assert fit() == fit()


def test_memory_maps_and_float32_are_taken_as_they_are(tmp_path: Path) -> None:
    X, y = mixture([200, 200], 4)
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    data = Labeled.check(mapped, y)
    assert np.shares_memory(data.X, mapped)
    assert {Z.dtype for Z in data.prepare("ledoit_wolf").rows.by_class} == {np.dtype(np.float32)}
    from_map = MELM(regularization=None, n_starts=2, random_state=0).fit(mapped, y)
    np.testing.assert_array_equal(
        from_map.projection_,
        MELM(regularization=None, n_starts=2, random_state=0).fit(X.astype(np.float32), y).projection_,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_evaluation_needs_at_most_half_of_the_data_beside_its_copy(
    dtype: type[np.floating], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 2**17)
    monkeypatch.setattr(tiles, "BLOCK_ROWS", 2**13)
    X, y = blobs(1.0, 120_000, 30)
    X = X.astype(dtype)
    tracemalloc.start()
    try:
        prepared = Labeled.check(X, y).prepare("ledoit_wolf")
        WhitenedDivergence(prepared, 2).value_and_gradient(start_projection(prepared.whitening, 2, 0, 0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * X.nbytes


@pytest.mark.parametrize("kind", [Separable, Nonuniform])
def test_partial_sums_over_blocks_add_up(kind: type[Separable] | type[Nonuniform]) -> None:
    Z, basis, shift = np.random.default_rng(0).standard_normal((4000, 2)), np.diag([0.4, 0.5]), np.array([0.1, 0.2])
    whole = kind(Z, basis, shift, (9, 8), 1e-8).forward(np.full(4000, 1 / 4000))
    blocks = [Z[3000:], Z[:100], Z[1000:3000], Z[100:1000]]
    total = sum(kind(block, basis, shift, (9, 8), 1e-8).forward(np.full(len(block), 1 / 4000)) for block in blocks)
    np.testing.assert_allclose(total, whole, rtol=0, atol=1e-13)


def test_blocks_in_any_order_give_the_same_divergence(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = mixture([30_000, 25_000], 5)
    prepared = Labeled.check(X, y).prepare("ledoit_wolf")
    V = start_projection(prepared.whitening, 2, 0, 3)
    value, gradient = WhitenedDivergence(prepared, 2).value_and_gradient(V)

    def small_blocks(self: Nonuniform) -> Iterator[slice]:
        n_rows = len(self._rows)
        yield from (slice(begin, min(begin + 7000, n_rows)) for begin in reversed(range(0, n_rows, 7000)))

    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 2**13)
    monkeypatch.setattr(Nonuniform, "_blocks", small_blocks)
    in_blocks, gradient_in_blocks = WhitenedDivergence(prepared, 2).value_and_gradient(V)
    assert in_blocks == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(gradient_in_blocks, gradient, rtol=1e-9, atol=1e-12)
