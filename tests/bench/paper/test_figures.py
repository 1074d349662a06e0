"""Figures."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from bench.paper import figures

DIVERGENCES = {"heart": np.array([1.0, 3.0, 2.0, 2.5, 0.5, 3.0] * 4), "sonar": np.linspace(1, 2, 24)}


@pytest.mark.parametrize("n_starts", [1, 2, 5, 6])
def test_expected_best_is_the_mean_over_all_choices(n_starts: int) -> None:
    divergences = np.array([0.3, 2.0, 1.1, 1.1, -0.5, 4.0])
    chosen = [max(choice) for choice in combinations(divergences.tolist(), n_starts)]
    assert figures.expected_best(divergences, n_starts) == pytest.approx(np.mean(chosen))


@pytest.mark.parametrize(
    "drawing",
    [
        figures.histograms(DIVERGENCES),
        figures.curves(DIVERGENCES),
        figures.pictures({"pca": np.eye(4)[:, :2], "lda & more": np.arange(4.0)[:, None]}, [0, 1, 0, 1]),
    ],
    ids=["histograms", "curves", "pictures"],
)
def test_figures_are_drawings_of_finite_numbers(drawing: str) -> None:
    root = ElementTree.fromstring(drawing)  # noqa: S314 - our own
    assert root.tag.endswith("svg")
    assert "nan" not in drawing
    assert "inf" not in drawing


def test_equal_divergences_can_be_drawn() -> None:
    alike = {"fourclass": np.full(20, 0.7)}
    assert "nan" not in figures.histograms(alike) + figures.curves(alike)
