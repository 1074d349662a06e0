"""
Few rows of one class
=====================

Every class has equal weight, however few rows it has. Prior probabilities change predictions, not the picture.
"""

# %%
# All benign tumors, and only 30 of the malignant ones.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import confusion_matrix

from melm import MELM

X, codes = load_breast_cancer(return_X_y=True)
y = np.array(["malignant", "benign"])[codes]
malignant = np.flatnonzero(y == "malignant")
kept = np.concatenate([np.flatnonzero(y == "benign"), malignant[:30]])
X_new, y_new = X[malignant[30:]], y[malignant[30:]]  # malignant tumors that the fit does not see

# %%
# The same projection with equal priors and with those of the training rows
# -------------------------------------------------------------------------
balanced = MELM(regularization=None, ridge=1.0, n_starts=8, random_state=0).fit(X[kept], y[kept])
empirical = clone(balanced).set_params(priors="empirical").fit(X[kept], y[kept])
assert np.array_equal(balanced.projection_, empirical.projection_)

for name, estimator in (("balanced", balanced), ("empirical", empirical)):
    found = np.mean(estimator.predict(X_new) == "malignant")
    print(
        f"{name:10} priors {np.round(estimator.model_.card.priors, 2)}: {found:.2f} of new malignant tumors are found"
    )
    print(confusion_matrix(y[kept], estimator.predict(X[kept]), labels=estimator.classes_))

# %%
# In the picture the few malignant tumors of the fit are separate from the benign ones. Most new ones fall near them.
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for label, marker in (("benign", "."), ("malignant", "x")):
    axes.scatter(*balanced.transform(X[kept][y[kept] == label]).T, marker=marker, label=label)
axes.scatter(*balanced.transform(X_new).T, marker="+", label="malignant, new")
axes.legend()
