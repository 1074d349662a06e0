from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf

import melm.data.blocks
from melm.data.covariance import CovarianceKind, class_moments
from tests.melm.samples import mixture


@pytest.mark.parametrize("n_rows", [2, 5, 30, 500])
def test_ledoit_wolf_equals_scikit_learns(n_rows: int) -> None:
    rows = mixture([n_rows, 2], 8)[0][:n_rows]
    np.testing.assert_allclose(class_moments(rows, "ledoit_wolf").covariance, ledoit_wolf(rows)[0], atol=1e-12)


def test_empirical_divides_by_n() -> None:
    rows = mixture([50, 2], 3)[0]
    moments = class_moments(rows, "empirical")
    np.testing.assert_allclose(moments.covariance, np.cov(rows.T, bias=True), atol=1e-14)
    np.testing.assert_allclose(moments.mean, rows.mean(axis=0), atol=1e-15)


@pytest.mark.parametrize("kind", ["ledoit_wolf", "empirical"])
def test_a_ridge_lies_on_every_feature_of_the_estimate_and_on_nothing_measured(kind: CovarianceKind) -> None:
    rows = mixture([50, 2], 3)[0]
    plain, ridged = class_moments(rows, kind), class_moments(rows, kind, ridge=0.5)
    np.testing.assert_allclose(ridged.covariance, plain.covariance + 0.5 * np.eye(3), rtol=1e-15)
    np.testing.assert_array_equal(ridged.empirical, plain.empirical)


def test_row_blocks_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = mixture([500, 2], 4)[0]
    whole = class_moments(rows, "ledoit_wolf").covariance
    monkeypatch.setattr(melm.data.blocks, "BLOCK_BYTES", 1000)
    np.testing.assert_allclose(class_moments(rows, "ledoit_wolf").covariance, whole, rtol=1e-12)


def test_rows_without_any_spread_have_no_covariance() -> None:
    np.testing.assert_array_equal(class_moments(np.ones((4, 3)), "ledoit_wolf").covariance, np.zeros((3, 3)))
