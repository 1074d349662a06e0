from __future__ import annotations

import numpy as np
import pytest

from melm import MELM
from melm.methods import METHODS, fit
from tests.melm.samples import Array, mixture


def test_defaults_are_those_of_the_estimator() -> None:
    defaults = METHODS["melm"].Parameters().model_dump()
    estimator = MELM().get_params()
    assert {name: estimator[name] for name in defaults if name != "seed"} == {
        name: value for name, value in defaults.items() if name != "seed"
    }


def test_fits_what_the_estimator_fits() -> None:
    X, y = mixture([40, 30], 4)
    model, estimator = (
        fit("melm", X, y, regularization=None, n_starts=3, seed=5),
        MELM(regularization=None, n_starts=3, random_state=5).fit(X, y),
    )
    assert model.projection.tobytes() == estimator.projection_.tobytes()
    assert model.predict_proba(X).tobytes() == estimator.predict_proba(X).tobytes()


def one_dimensional_divergence(a: Array, b: Array) -> float:
    """MELC's objective for two samples on a line, with Silverman's widths, written out."""

    def log_potential(p: Array, q: Array) -> float:
        variance = sum((4 / 3) ** 0.4 * len(s) ** -0.4 * s.var() for s in (p, q))
        kernels = np.exp(-((p[:, None] - q[None, :]) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        return float(np.log(kernels.mean()))

    return log_potential(a, a) + log_potential(b, b) - 2 * log_potential(a, b)


def test_melc_is_melm_with_one_component() -> None:
    """On a plane all directions can be tried: none separates better by the one-dimensional formula."""
    X, y = mixture([70, 50], 2, seed=3)
    angles = np.linspace(0, np.pi, 2001)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    tried = [one_dimensional_divergence(X[y == 0] @ v, X[y == 1] @ v) for v in directions]
    model = fit("melm", X, y, regularization=None, n_components=1, covariance="empirical")
    v = model.projection[:, 0]
    assert one_dimensional_divergence(X[y == 0] @ v, X[y == 1] @ v) == pytest.approx(
        model.card.model_dump()["in_sample"]["divergence"], rel=1e-7
    )
    assert model.card.model_dump()["in_sample"]["divergence"] == pytest.approx(max(tried), rel=1e-4)
    assert abs(v @ directions[int(np.argmax(tried))]) > 0.999


def test_the_estimate_of_a_path_counts_the_starts_of_its_race() -> None:
    method = METHODS["melm"]
    few, many = (method.Parameters(n_starts=n) for n in (16, 1000))
    assert method.n_units(few) == method.n_units(many)
    assert method.estimated_seconds(many, [50] * 3, 4) > 5 * method.estimated_seconds(few, [50] * 3, 4)
    assert method.estimated_seconds(many, [50] * 2, 4) == method.estimated_seconds(few, [50] * 2, 4)  # which has none
