"""Data sets of the paper's shapes: what they hold is made up."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from bench.paper.published import SHAPES


def write_data_set(folder: Path, name: str, seed: int = 0, n_rows: int | None = None) -> None:
    """Two overlapping classes, the second shifted along the first two features; labels as in the paper's files."""
    n_features = SHAPES[name].n_features
    generator = np.random.default_rng(seed)
    codes = np.arange(n_rows or SHAPES[name].n_rows) % 2
    X = generator.standard_normal((len(codes), n_features))
    X[codes == 1, :2] += 1.5
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{j}" for j in range(n_features)), "label"])
        writer.writerows([*row, 2 * code - 1] for row, code in zip(X.tolist(), codes.tolist(), strict=True))
