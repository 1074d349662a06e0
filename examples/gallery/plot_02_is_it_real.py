"""
Is it real?
===========

A projection that is chosen to separate classes separates noise as well. So look at rows that the fit has not seen.
"""

# %%
# Real measurements, and noise
# ----------------------------
# The wines once more, and a table of the same size in which a hundred columns of random numbers know nothing of the class.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from melm.evidence.validation import Validation
from melm.methods import fit

X, y = load_wine(return_X_y=True)
noise = np.random.default_rng(0).normal(size=(len(X), 100))

# %%
# Fit both, with validation
# -------------------------
# The whole fit is repeated in five folds. Each time a fifth of the rows is left out and then predicted. We take the
# paper's method here, which shows the fitted rows most clearly: the most flattering picture that there is.
validation = Validation(folds=5)
of_wine = fit("melm", X, y, validation=validation, regularization=None)
of_noise = fit("melm", noise, y, validation=validation, regularization=None)

# %%
# The rows that were fitted
# -------------------------
# Both pictures show groups. By the left one alone you could not tell that the right one is nothing.
figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for panel, model, rows, title in zip(panels, (of_wine, of_noise), (X, noise), ("wine", "pure noise"), strict=True):
    panel.scatter(*model.transform(rows).T, c=y, cmap="viridis", s=15)
    panel.set_title(f"{title}: rows that were fitted")

# %%
# Rows that were held out
# -----------------------
# For noise: on the left the rows that were fitted, on the right each row as a fit has placed it that had not seen it.
assert of_noise.held_out is not None
figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
panels[0].scatter(*of_noise.transform(noise).T, c=y, cmap="viridis", s=15)
panels[0].set_title("pure noise: rows that were fitted")
panels[1].scatter(*of_noise.held_out.positions.T, c=of_noise.held_out.codes, cmap="viridis", s=15)
panels[1].set_title("pure noise: rows that were held out")

# %%
# The verdict tells them apart
# ----------------------------
# It looks at held-out rows only. Guessing has a balanced accuracy of 1/3 with three classes.
for title, model in (("wine", of_wine), ("pure noise", of_noise)):
    judged = model.card.validation
    assert judged is not None
    assert model.card.verdict is not None
    assert model.card.in_sample is not None
    print(f"{title}: separation {model.card.in_sample.divergence:.1f}")
    print(f"  balanced accuracy {judged.balanced_accuracy:.2f}, interval {judged.interval[0]:.2f} to {judged.interval[1]:.2f}")
    print(f"  {model.card.verdict.sentence}")
    print(f"  {model.card.verdict.next}")

# %%
# How often would chance do as well?
# ----------------------------------
# A permutation test repeats the whole fit, folds included, on shuffled labels. Here with LDA, which is quick.
tested = fit("lda", X, y, validation=Validation(folds=3, permutations=39)).card.permutation_test
assert tested is not None
print(f"p value of the balanced accuracy: {tested.p_value_of_balanced_accuracy}")
print(f"best of the shuffled labels: {max(tested.balanced_accuracies):.2f}")
