"""
Two, three and one components
=============================

Two components make a picture on a page. Three may separate what two cannot; one is enough where classes lie in a row.
"""

# %%
# Two components
# --------------
from sklearn.datasets import load_wine

import melm
from melm import MELM

wine = load_wine(as_frame=True)
X, y = wine.data, wine.target_names[wine.target]
two = MELM(n_components=2, random_state=0).fit(X, y)
axes = melm.plot(two, X, y)

# %%
# Three components
# ----------------
# They are drawn in pairs. The score on held-out rows tells whether the third component is worth it.
three = MELM(n_components=3, random_state=0).fit(X, y)
panels = melm.plot(three, X, y)

# %%
# One component
# -------------
# The densities are curves.
one = MELM(n_components=1, random_state=0).fit(X, y)
axes = melm.plot(one, X, y)

# %%
# Compare them on held-out rows
# -----------------------------
# This uses the paper's search, which is faster.
for n_components in (1, 2, 3):
    estimator = MELM(n_components, regularization=None, random_state=0).fit(X, y).validate(X, y)
    judged = estimator.model_.card.validation
    low, high = judged.interval
    print(f"{n_components} components: {judged.balanced_accuracy:.2f}, interval {low:.2f} to {high:.2f}")
