from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from melm.data import blocks as row_blocks
from melm.data.axes import align, covariance, orient, principal_axes
from tests.melm.samples import mixture, projection


def test_covariance_does_not_depend_on_blocks_and_survives_a_large_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = mixture([40, 30], 4)
    np.testing.assert_allclose(covariance(X), np.cov(X.T, ddof=0))
    np.testing.assert_allclose(covariance(X + 1e8), np.cov(X.T, ddof=0), rtol=1e-5, atol=1e-5)
    whole = covariance(X)
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 7 * 4 * 8)
    np.testing.assert_allclose(covariance(X), whole, rtol=1e-12, atol=1e-12)


@given(seed=st.integers(0, 10_000), k=st.integers(1, 5))
def test_principal_axes_diagonalize_widest_first(seed: int, k: int) -> None:
    A = np.random.default_rng(seed).standard_normal((5, 5))
    V = principal_axes(A @ A.T, k)
    diagonal = V.T @ A @ A.T @ V
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(diagonal, np.diag(np.sort(np.linalg.eigvalsh(A @ A.T))[::-1][:k]), atol=1e-9)


@given(signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=3, max_size=3))
def test_orient_does_not_depend_on_the_signs_it_is_given(signs: list[float]) -> None:
    V = projection(6, 3)
    assert orient(V * signs).tobytes() == orient(V).tobytes()
    assert (orient(V).max(axis=0) == np.abs(V).max(axis=0)).all()


@given(seed=st.integers(0, 10_000))
def test_align_does_not_depend_on_the_rotation_it_is_given(seed: int) -> None:
    X, _ = mixture([40, 30], 6)
    V, spread = projection(6, 3), covariance(X)
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]
    aligned = align(V @ rotation, spread)
    np.testing.assert_allclose(aligned, align(V, spread), atol=1e-9)
    np.testing.assert_allclose(aligned @ aligned.T, V @ V.T, atol=1e-9)
    variances = np.diag(aligned.T @ spread @ aligned)
    assert (np.diff(variances) <= 0).all()
