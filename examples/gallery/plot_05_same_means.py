"""
Classes with the same mean
==========================

Two classes differ in shape and not in their means: LDA cannot find the difference, a comparison of densities can.
"""

# %%
# Class 0 is a ball, class 1 a shell around it (scikit-learn's ``make_gaussian_quantiles`` in two columns), hidden among
# six columns of noise.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_gaussian_quantiles

from melm.methods import fit

shape, y = make_gaussian_quantiles(n_samples=400, n_features=2, n_classes=2, random_state=0)
noise = np.random.default_rng(0).normal(size=(400, 6))
X = np.hstack([shape, noise])

# %%
# LDA has one axis for two classes, along which the means differ by chance only. MELM finds the two columns.
lda = fit("lda", X, y)
melm = fit("melm", X, y, regularization=None, n_starts=8)

figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for label in (0, 1):
    panels[0].hist(lda.transform(X)[y == label, 0], bins=30, alpha=0.6)
panels[0].set_title("LDA")
panels[1].scatter(*melm.transform(X).T, c=y, cmap="viridis", s=15)
panels[1].set_title("MELM")

# %%
# The share of MELM's axes that lies in the two columns that matter, between 0 and 1 for each axis:
print(np.square(melm.projection[:2]).sum(axis=0).round(2))
