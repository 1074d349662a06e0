"""
One component, and the width of the kernels
===========================================

With one component the densities are curves, and the classifier has several thresholds. ``gamma`` sets how smooth the
curves are.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from melm import MELM

iris = load_iris()
X, y = iris.data, iris.target_names[iris.target]

# %%
# Three widths
# ------------
# A small ``gamma`` follows every row, a large one sees only the rough shape. Probabilities are drawn along the axis;
# dashed lines are the thresholds between classes. ``gamma="auto"`` chooses by cross-validation.
figure, panels = plt.subplots(3, 1, figsize=(7, 7), sharex=True, layout="constrained")
for panel, gamma in zip(panels, (0.3, 1.0, 3.0), strict=True):
    estimator = MELM(n_components=1, gamma=gamma, regularization=None, random_state=0).fit(X, y)
    z = estimator.transform(X)[:, 0]
    line = np.linspace(z.min() - 0.5, z.max() + 0.5, 400)
    rows = estimator.offset_ + line[:, None] * estimator.projection_[:, 0]  # rows that are projected to the line
    probabilities = estimator.predict_proba(rows)
    for label, curve in zip(estimator.classes_, probabilities.T, strict=True):
        panel.plot(line, curve, label=label)
    changes = np.flatnonzero(np.diff(probabilities.argmax(axis=1)))
    for threshold in line[changes]:
        panel.axvline(threshold, color="black", linestyle="--", linewidth=0.8)
    panel.plot(z, np.full(len(z), -0.05), "|", color="gray", markersize=5)
    panel.set_title(f"gamma={gamma:g}: separation {estimator.divergence_:.1f}, {len(changes)} thresholds")
panels[0].legend()
