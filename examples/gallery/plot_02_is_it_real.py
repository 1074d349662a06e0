"""
Is it real?
===========

A projection that is chosen to separate classes separates noise as well. So look at held-out rows.
"""

# %%
# Real measurements, and noise
# ----------------------------
# The wines once more, and a table with as many rows and a hundred columns of random numbers, which have nothing to do
# with the class.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from melm import MELM

X, y = load_wine(return_X_y=True)
noise = np.random.default_rng(0).normal(size=(len(X), 100))

# %%
# Fit both
# --------
# We take the paper's method here, ``regularization=None``. It separates the fitted rows most clearly, so its picture is
# the most flattering one.
of_wine = MELM(regularization=None, random_state=0).fit(X, y)
of_noise = MELM(regularization=None, random_state=0).fit(noise, y)

figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
panels[0].scatter(*of_wine.transform(X).T, c=y, cmap="viridis", s=15)
panels[0].set_title("wine: rows that were fitted")
panels[1].scatter(*of_noise.transform(noise).T, c=y, cmap="viridis", s=15)
panels[1].set_title("pure noise: rows that were fitted")

# %%
# Both pictures show groups. The right one does not look like noise, and yet it is.
#
# Look at rows that were held out
# -------------------------------
# ``validate`` repeats the whole fit in five folds. Each time a fifth of the rows is left out, and then placed in the
# picture by a fit that has not seen them.
of_wine.validate(X, y)
of_noise.validate(noise, y)

held_out = of_noise.model_.held_out
figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
panels[0].scatter(*of_noise.transform(noise).T, c=y, cmap="viridis", s=15)
panels[0].set_title("pure noise: rows that were fitted")
panels[1].scatter(*held_out.positions.T, c=held_out.codes, cmap="viridis", s=15)
panels[1].set_title("pure noise: rows that were held out")

# %%
# The verdict tells them apart
# ----------------------------
# It looks at held-out rows only. Guessing has a balanced accuracy of 1/3 with three classes.
for title, estimator in (("wine", of_wine), ("pure noise", of_noise)):
    judged = estimator.model_.card.validation
    low, high = judged.interval
    print(f"{title}: separation {estimator.divergence_:.1f}")
    print(f"  balanced accuracy {judged.balanced_accuracy:.2f}, interval {low:.2f} to {high:.2f}")
    print(f"  {estimator.verdict_.level.value}: {estimator.verdict_.next}")

# %%
# How often would chance do as well?
# ----------------------------------
# A permutation test repeats the whole fit, folds included, on permuted labels.
of_wine.validate(X, y, folds=3, permutations=19)
tested = of_wine.model_.card.permutation_test
print(f"p value of the balanced accuracy: {tested.p_value_of_balanced_accuracy}")
print(f"best of the shuffled labels: {max(tested.balanced_accuracies):.2f}")
