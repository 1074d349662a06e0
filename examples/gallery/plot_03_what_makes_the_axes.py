"""
What the axes are made of
=========================

Standardized weights tell how far one column moves a row along an axis. Correlations tell how closely a column is
related to the axis.
"""

# %%
# Breast tumors: 30 measurements of cells, malignant or benign. One axis is enough for two classes.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from melm import MELM

tumors = load_breast_cancer(as_frame=True)
X, y = tumors.data, tumors.target_names[tumors.target]
estimator = MELM(n_components=1, regularization=None, ridge=1.0, random_state=0).fit(X, y)

# %%
# The rows along the axis
# -----------------------
z = estimator.transform(X)[:, 0]
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for label in estimator.classes_:
    axes.hist(z[y == label], bins=40, alpha=0.6, label=label)
axes.set_xlabel("axis 1")
axes.legend()

# %%
# Weights and correlations
# ------------------------
# The ten columns with the largest weights. Many of these measurements are correlated (radius, perimeter and area), so
# the weight is divided among them, while their correlations with the axis are all large.
weights = estimator.model_.loadings()["z0"]
correlations = estimator.model_.axis_correlations()["z0"]
strongest = weights.abs().sort_values().index[-10:]

figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for panel, values, title in zip(panels, (weights, correlations), ("standardized weight", "correlation"), strict=True):
    panel.barh(strongest, values[strongest])
    panel.axvline(0, color="black", linewidth=0.8)
    panel.set_title(title)
