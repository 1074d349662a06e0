"""Many projections in one evaluation: against one by one, and bit for bit whatever else is in the stack."""

from __future__ import annotations

import numpy as np
import pytest

import melm
from melm.data.labeled import Labeled
from melm.objective.divergence import WhitenedDivergence
from melm.objective.potential import pairs
from melm.objective.stack import DivergenceStack
from melm.plan import Fold, select
from tests.melm.samples import Array, blobs, mixture


def projections(n_dimensions: int, k: int) -> Array:
    V = np.random.default_rng(k).standard_normal((16, n_dimensions, k))
    V[3] *= 50
    return V


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("sizes", [[40, 31], [25, 40, 18], [9, 20, 15, 9, 11]], ids=str)
@pytest.mark.parametrize("block", [2**16, 60])
def test_equals_one_by_one(sizes: list[int], k: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "BLOCK_PAIRS", block)
    prepared = Labeled.check(*mixture(sizes, 5)).prepare("ledoit_wolf")
    V = projections(5, k)
    divergences, gradients = DivergenceStack([prepared], k, [0.8]).values_and_gradients(V)
    alone = WhitenedDivergence(prepared, k, 0.8, form="exact")
    for own, divergence, gradient in zip(V, divergences, gradients, strict=True):
        value, slope = alone.value_and_gradient(own)
        assert divergence == pytest.approx(value, rel=1e-10, abs=1e-10)
        np.testing.assert_allclose(gradient, slope, rtol=0, atol=1e-9 * np.abs(slope).max())


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("distance", [1.0, 60.0])
def test_bits_do_not_depend_on_the_rest_of_the_stack(k: int, distance: float) -> None:
    prepared = Labeled.check(*blobs(distance, 150, 6, 3)).prepare("empirical")
    V = projections(6, k)
    stack = DivergenceStack([prepared], k)
    divergences, gradients = stack.values_and_gradients(V)
    for some in ([0], [15], [3, 7], [1, 2, 5], list(range(7)), list(range(15))):
        fewer, slopes = stack.values_and_gradients(V[some])
        np.testing.assert_array_equal(fewer, divergences[some])
        np.testing.assert_array_equal(slopes, gradients[some])


def test_gradient_follows_finite_differences() -> None:
    prepared = Labeled.check(*blobs(40.0, 60, 4)).prepare("empirical")  # kernels underflow
    stack = DivergenceStack([prepared], 2)
    V = projections(4, 2)[:2]
    gradients = stack.values_and_gradients(V)[1]
    step = 1e-6
    for entry in np.ndindex(4, 2):
        shift = np.zeros_like(V)
        shift[:, *entry] = step
        slope = (stack.values_and_gradients(V + shift)[0] - stack.values_and_gradients(V - shift)[0]) / (2 * step)
        np.testing.assert_allclose(gradients[:, *entry], slope, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["empirical", "ledoit_wolf"])
@pytest.mark.parametrize("distance", [1.0, 60.0])
def test_folds_are_weights_of_the_same_rows(kind: melm.Covariance, distance: float) -> None:
    data = Labeled.check(*blobs(distance, 90, 4))
    whole = data.prepare(kind)
    folds = [(Fold(index, 3, 0),) for index in range(3)]
    weights = []
    for fold in folds:
        counts = np.zeros(len(data.X))
        counts[select(fold, data.codes).rows] = 1
        weights.append([counts[data.codes == code] for code in range(2)])
    ridges = [0.0, 0.3, 2.0]
    problems = [whole.reweighted(own, kind, ridge) for own, ridge in zip(weights, ridges, strict=True)]
    V = projections(4, 2)[:6]
    stack = DivergenceStack(problems, 2, [0.7, 1.0, 1.4])
    divergences, gradients = stack.values_and_gradients(V, [0, 1, 2, 0, 1, 2])
    for place in range(6):
        prepared = data.prepare(kind, folds[place % 3], ridges[place % 3])
        own = prepared.to_whitened(whole.to_features(V[place]))
        expected = WhitenedDivergence(prepared, 2, [0.7, 1.0, 1.4][place % 3], form="exact").value(own)
        assert divergences[place] == pytest.approx(expected, rel=1e-9)
        alone = WhitenedDivergence(problems[place % 3], 2, [0.7, 1.0, 1.4][place % 3], form="exact")
        slope = alone.value_and_gradient(V[place])[1]
        np.testing.assert_allclose(gradients[place], slope, rtol=0, atol=1e-8 * np.abs(slope).max())
