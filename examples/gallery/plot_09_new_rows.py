"""
New rows, and outliers
======================

Probabilities compare the classes. The log density tells whether a row resembles any training row at all.
"""

# %%
# Fit two species of iris, then show the model all three.
import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from melm import MELM

iris = load_iris()
X, y = iris.data, iris.target_names[iris.target]
known = y != "setosa"
estimator = MELM(random_state=0).fit(X[known], y[known])

# %%
# Probabilities alone mislead
# ---------------------------
# Probabilities add up to one for every row, even for a row of a species that the model does not know.
for species in iris.target_names:
    rows = X[y == species]
    sure = (estimator.predict_proba(rows).max(axis=1) > 0.9).mean()
    print(f"{species:12} {sure:.2f} of the rows have a class of more than 0.9")

# %%
# The log density does not
# ------------------------
# Rows of the unknown species lie where there are no training rows. A threshold at the lowest log densities of training
# rows finds them.
threshold = sorted(estimator.log_density(X[known]))[2]
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for species in iris.target_names:
    density = estimator.log_density(X[y == species])
    axes.hist(density, bins=30, alpha=0.6, label=species)
    print(f"{species:12} {(density < threshold).mean():.2f} of the rows are below the threshold")
axes.axvline(threshold, color="black", linewidth=0.8)
axes.set_xlabel("log density")
axes.legend()
