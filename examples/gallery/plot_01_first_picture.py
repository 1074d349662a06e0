"""
First picture from a messy DataFrame
====================================

Real tables have text, dates, missing values and numbers that are not measurements. `MELM` takes them as they are.
"""

# %%
# A messy table
# -------------
# The wines of scikit-learn, made messy: every bottle has a number and a date, the color is written as text, and a tenth
# of the values of malic acid are missing.
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

import melm
from melm import MELM

wine = load_wine(as_frame=True)
growers = wine.target_names[wine.target]
generator = np.random.default_rng(0)
n_rows = len(wine.data)

table = wine.data.drop(columns="color_intensity")
table.insert(0, "bottle", [f"B{number:04d}" for number in generator.permutation(n_rows)])
days = pd.to_timedelta(generator.integers(0, 365, n_rows), unit="D")
table["opened"] = pd.Timestamp("2024-01-01") + days
colors = ["pale", "light", "deep", "dark"]
table["color"] = pd.cut(wine.data.color_intensity, [0, 3, 5, 7, 20], labels=colors).astype(str)
table.loc[generator.random(n_rows) < 0.1, "malic_acid"] = np.nan
table.head()

# %%
# Fit it as it is
# ---------------
estimator = MELM(random_state=0).fit(table, growers)

# %%
# Every column got a role, with a reason. The bottle number identifies rows, so it is not a feature. If a role is wrong,
# set it: ``MELM(columns={"opened": "ignore"})``.
for name, proposal in estimator.columns_.items():
    print(f"{name:30} {proposal.role:12} {proposal.reason}")

# %%
# The picture
# -----------
# Points are wines. Contours show where the wines of a grower are dense, and lines are the boundaries between regions: a
# new wine is predicted as the grower in whose region it lies. Arrows show where a row moves when one of the strongest
# features grows.
axes = melm.plot(estimator, table, growers)

# %%
# The title says that the fit has not been validated. ``validate`` repeats the whole fit in folds and judges it on
# held-out rows; the rings in the picture are these rows.
estimator.validate(table, growers, folds=3)
axes = melm.plot(estimator)

# %%
# What the axes are made of
# -------------------------
# Standardized weights, the strongest first. Categories of the color are features of their own.
loadings = estimator.model_.loadings()
loadings.sort_values("z0", key=abs, ascending=False).round(2).head(8)

# %%
# New rows are raw rows
# ---------------------
# They have the same columns, in any order; the encoding that was learned from the training rows is applied to them.
print(estimator.predict(table.sample(5, random_state=0)))
