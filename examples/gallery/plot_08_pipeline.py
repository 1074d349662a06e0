"""
In a pipeline
=============

`MELM` is a scikit-learn estimator: use it as a step of a pipeline, and tune its parameters by grid search.
"""

# %%
# Handwritten digits from 0 to 4: 64 pixels, five classes.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from melm import MELM

X, y = load_digits(n_class=5, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=300, stratify=y, random_state=0)

# %%
# A projection, then nearest neighbors in it
# ------------------------------------------
# The number of components is chosen by cross-validation. Inside it, the projection is fitted to the training part only.
pipeline = make_pipeline(MELM(regularization=None, ridge=1.0, n_starts=2, random_state=0), KNeighborsClassifier())
search = GridSearchCV(pipeline, {"melm__n_components": [1, 2, 3]}, cv=3).fit(X_train, y_train)
print(search.best_params_, search.cv_results_["mean_test_score"].round(2))
print(f"{search.score(X_test, y_test):.2f} of new digits are recognized")

# %%
# New digits in the picture of the training digits
# ------------------------------------------------
# With two components the projection can be drawn. Each new digit is drawn as its true label.
estimator = MELM(regularization=None, ridge=1.0, n_starts=2, random_state=0).fit(X_train, y_train)
Z = estimator.transform(X_train)
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
axes.scatter(Z[:, 0], Z[:, 1], c=y_train, cmap="tab10", s=8, alpha=0.4)
for place, digit in zip(estimator.transform(X_test)[:150], y_test[:150], strict=True):
    axes.text(place[0], place[1], str(digit), fontsize=8, ha="center", va="center")
