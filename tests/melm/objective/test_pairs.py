"""All pairs of classes at once: against the paper's formulas, and against each pair by itself."""

from __future__ import annotations

import numpy as np
import pytest

import melm
from melm.objective.divergence import Form
from melm.objective.potential import Gradient, pairs
from melm.objective.potential.exact import ExactPotential
from melm.objective.potential.pairs import PairwisePotentials
from tests.melm import oracle
from tests.melm.samples import Array, mixture, projection

SIZES = [7, 6, 12, 5, 9, 5, 8, 6, 6, 11, 7, 10]  # rows of twelve classes


@pytest.mark.parametrize("form", ["exact", "spectral"])
@pytest.mark.parametrize("k", [1, 2])
def test_many_classes_equal_the_papers_formulas(form: Form, k: int) -> None:
    X, y = mixture(SIZES, 4)
    V = projection(4, k)
    value, gradient = oracle.divergence(X, y, V, 1.2, "ledoit_wolf")
    ours, slope = melm.Divergence(
        X, y, n_components=k, gamma=1.2, form=form, spectral_tolerance=1e-13
    ).value_and_gradient(V)
    assert ours == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(slope, gradient, atol=1e-9 * np.abs(gradient).max())


def projected(k: int, apart: float) -> tuple[list[Array], Array]:
    """Rows of the classes, some of them far from the others, and smoothing matrices of very different sizes."""
    generator = np.random.default_rng(k)
    scales = 10.0 ** generator.uniform(-2, 1, len(SIZES))
    Z = [
        np.asfortranarray(scale * generator.standard_normal((n, k)) + apart * generator.standard_normal(k))
        for scale, n in zip(scales, SIZES, strict=True)
    ]
    mixing = generator.standard_normal((len(SIZES), k, k)) + 2 * np.eye(k)
    return Z, 0.1 * scales[:, None, None] ** 2 * (mixing @ mixing.swapaxes(1, 2))


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("apart", [1.0, 100.0])
@pytest.mark.parametrize("block", [2**16, 60])
def test_equals_each_pair_by_itself(k: int, apart: float, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "BLOCK_PAIRS", block)
    Z, S = projected(k, apart)
    shares = [np.arange(1, n + 1) / (n * (n + 1) / 2) for n in SIZES]
    together = PairwisePotentials(Z, S, shares)
    weights = {pair: float(np.cos(7 * pair[0] + pair[1])) for pair in together.log_values}
    ours, theirs = Gradient.zeros(Z), Gradient.zeros(Z)
    together.add_gradient(weights, ours)
    for pair, weight in weights.items():
        alone = ExactPotential(pair, Z, S, shares)
        assert together.log_values[pair] == pytest.approx(alone.log_values[pair], rel=1e-9, abs=1e-9)
        alone.add_gradient({pair: weight}, theirs)
    for mine, other in zip(ours.rows, theirs.rows, strict=True):
        np.testing.assert_allclose(mine, other, rtol=0, atol=1e-7 * np.abs(other).max())
    for own, expected in zip(ours.smoothing, theirs.smoothing, strict=True):
        np.testing.assert_allclose(own, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
