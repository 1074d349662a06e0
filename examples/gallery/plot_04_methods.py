"""
Other methods on the same rows
==============================

PCA ignores the classes, LDA compares their means, NCA their neighbors, MELM their densities. Each is one call.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from melm.evidence.validation import Validation
from melm.methods import METHODS, fit

X, y = load_wine(return_X_y=True)

# %%
# Four pictures
# -------------
# Every method gets the same density classifier on top, so the scores on held-out rows can be compared.
figure, panels = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
for panel, name in zip(panels.flat, ("pca", "lda", "nca", "melm"), strict=True):
    options = {"regularization": None} if name == "melm" else {}
    model = fit(name, X, y, validation=Validation(folds=3), **options)
    panel.scatter(*model.transform(X).T, c=y, cmap="viridis", s=15)
    panel.set_title(f"{name}: {model.card.validation.balanced_accuracy:.2f} on held-out rows")

# %%
# All methods
# -----------
for method in METHODS.values():
    print(f"{method.name:10} {method.title}")
