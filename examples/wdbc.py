"""Breast cancer, looked at: fit a projection on a service, draw it, and predict with it.

Run it as a script, `python examples/wdbc.py http://127.0.0.1:8000`, or cell by cell in an editor that knows `# %%`.
"""

# %% The data: 569 tumors, 30 measurements each, malignant or benign
import sys
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from melm.remote import Client

wdbc = load_breast_cancer(as_frame=True)
labels = wdbc.target_names[wdbc.target]
X_train, X_test, y_train, y_test = train_test_split(wdbc.data, labels, stratify=labels, random_state=0)

# %% The fit: 8 starts, and the same again inside five folds, to know what the picture is worth
client = Client(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000")
dataset = client.datasets.upload(X_train, y_train, name="wdbc, three quarters")
fit = client.fits.submit(dataset, params={"n_components": 2, "n_starts": 8})
model = fit.wait()  # a bar shows starts done, best divergence and time left

card = model.describe()["card"]
held_out = card["validation"]
print(f"divergence {card['in_sample']['divergence']:.3f}, found by start {card['search']['best_start']} of 8")
print(f"balanced accuracy {held_out['balanced_accuracy']:.3f} on rows left out, 95 % interval {held_out['interval']}")

# %% The picture: both classes, the contours of their densities, and the boundary between them
Path("wdbc.svg").write_text(model.plot())

# %% Which measurements make up the first axis
loadings = sorted(
    zip(card["features"], (row[0] for row in card["loadings"]), strict=True), key=lambda each: -abs(each[1])
)
for feature, loading in loadings[:5]:
    print(f"{loading:+.2f}  {feature}")

# %% Predictions for tumors that the model has not seen
predicted = model.predict(X_test)
print(f"{(predicted == y_test).mean():.3f} of {len(y_test)} new tumors are told right")
unsure = model.predict_proba(X_test).max(axis=1) < 0.9
print(f"{unsure.sum()} of them with a probability below 0.9")

# %% The same model without the service
local = model.to_local()
assert (local.predict(X_test) == predicted).all()
