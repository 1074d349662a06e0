"""
First picture from a messy DataFrame
====================================

Real tables have text, dates, missing values and numbers that are no measurements. `MELM` takes them as they are.
"""

# %%
# A table as people have it
# -------------------------
# The wines of scikit-learn, made messy: every bottle has a number and a date, the color is written as text, and a tenth
# of the malic acid values are missing.
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

import melm
from melm import MELM

wine = load_wine(as_frame=True)
growers = wine.target_names[wine.target]
generator = np.random.default_rng(0)

table = wine.data.drop(columns="color_intensity")
table.insert(0, "bottle", [f"B{number:04d}" for number in generator.permutation(len(table))])
table["opened"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(generator.integers(0, 365, len(table)), unit="D")
table["color"] = pd.cut(wine.data.color_intensity, [0, 3, 5, 7, 20], labels=["pale", "light", "deep", "dark"]).astype(str)
table.loc[generator.random(len(table)) < 0.1, "malic_acid"] = np.nan
table.head()

# %%
# Fit it as it is
# ---------------
estimator = MELM(random_state=0).fit(table, growers)

# %%
# Every column got a role, with a reason. The bottle's number names rows and is no feature. Where a role is wrong, set it:
# ``MELM(columns={"opened": "ignore"})``.
assert estimator.columns_ is not None
for name, proposal in estimator.columns_.items():
    print(f"{name:30} {proposal.role:12} {proposal.reason}")

# %%
# The picture
# -----------
# Points are wines, contours show where the wines of a grower are dense, and the background shows which grower a new wine
# would be given to.
import matplotlib.pyplot as plt
plt.scatter(*estimator.transform(table).T)

# %%
# Which columns make the axes: standardized weights, the strongest first. The categories of the color are features of
# their own, which the picture's axes can use.
loadings = pd.DataFrame(estimator.model_.loadings, index=estimator.features_, columns=["axis 1", "axis 2"])
loadings.sort_values("axis 1", key=abs, ascending=False).round(2).head(8)

# %%
# New rows are raw rows
# ---------------------
# They have the same columns, in any order; what was learned about the columns is applied to them.
estimator.predict(table.sample(5, random_state=0))
