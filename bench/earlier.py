"""Fits by this version against fits by version 0.1, taken from its last commit, in turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.measurement import Measurement

COMMIT = "ed56073c1c242ca9bca00dc8edf159aef3596907"  # of version 0.1.0: clones do not always have tags
HERE = Path(__file__).parents[1]
FIT = """
import json, sys, time
import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from melm.estimator import MELM

def classes(n_rows, n_features, n_classes, apart):
    generator = np.random.default_rng(0)
    y = np.arange(n_rows) % n_classes
    mixing = np.eye(n_features) + 0.1 * generator.standard_normal((n_features, n_features))
    centers = apart * generator.standard_normal((n_classes, n_features))
    return (generator.standard_normal((n_rows, n_features)) + centers[y]) @ mixing, y

makers = {
    "wine": lambda: load_wine(return_X_y=True),
    "iris": lambda: load_iris(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "made": lambda: classes(*map(int, sys.argv[2:5]), float(sys.argv[5])),
}
X, y = makers[sys.argv[1]]()
plain = {"regularization": None} if "regularization" in MELM().get_params() else {}  # 0.1 had no other search
MELM(n_starts=1, max_iterations=2, random_state=0, **plain).fit(X[:200], y[:200]) if len(set(y[:200])) > 1 else None
began = time.process_time()
model = MELM(random_state=0, max_iterations=int(sys.argv[6]) if len(sys.argv) > 6 else 1000, **plain).fit(X, y)
print(json.dumps([time.process_time() - began, model.divergence_]))
"""
DATA = {
    "wine, 178 x 13 in 3 classes": (["wine"], 3.0),
    "iris, 150 x 4 in 3 classes": (["iris"], 3.0),
    "270 x 13 in 2 classes": (["made", "270", "13", "2", "0.3"], 3.0),
    "288 x 90 in 15 classes": (["made", "288", "90", "15", "0.8"], 5.0),
    "digits, 1,797 x 64 in 10 classes": (["digits"], 5.0),
    "3,000 x 784 in 10 classes": (["made", "3000", "784", "10", "0.1"], 5.0),
    "14,000 x 16 in 26 classes": (["made", "14000", "16", "26", "1"], 5.0),
}


def measurements(quick: bool) -> Iterator[Measurement]:
    """One for each data set."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", COMMIT, "melm"], cwd=HERE, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        for name, (arguments, target) in list(DATA.items())[: 3 if quick else None]:
            yield against_earlier(name, arguments, target, Path(folder), repeats=1 if quick else 3)


def against_earlier(name: str, arguments: list[str], target: float, folder: Path, repeats: int) -> Measurement:
    """How many times faster a fit has become, and by how much its divergence differs."""
    before, after = [], []
    for _ in range(repeats):
        before.append(fit(arguments, folder))
        after.append(fit(arguments, HERE))
        if before[0][0] > 10:
            break
    seconds = [min(run[0] for run in runs) for runs in (before, after)]
    change = after[0][1] - before[0][1]
    note = f"{seconds[1]:.2g} s against {seconds[0]:.2g} s; divergence {after[0][1]:.6g}, {change:+.0e}"
    return Measurement(f"Fit of {name}, times faster than 0.1", seconds[0] / seconds[1], at_least=target, note=note)


def fit(arguments: list[str], folder: Path) -> tuple[float, float]:
    """Seconds of computing and divergence of a fit by the library in a folder."""
    command = [sys.executable, "-c", FIT, *arguments]
    run = subprocess.run(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=True
    )
    seconds, divergence = json.loads(run.stdout)
    return seconds, divergence
