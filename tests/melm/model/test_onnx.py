from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnxruntime
import pytest

from melm.data.labeled import Labeled
from melm.methods import METHODS, fit, plan_fit, run_unit
from melm.model import Model
from melm.model import onnx as onnx_file
from melm.plan import run_plan
from melm.tables.encoding import CategoryColumn, Encoder
from melm.tables.table import Table
from tests.melm.samples import Array, mixture


def run(model: Model, X: Array) -> tuple[Any, Array, Array]:
    session = onnxruntime.InferenceSession(onnx_file.dump(model), providers=["CPUExecutionProvider"])
    label, probabilities, Z = session.run(["label", "probabilities", "Z"], {"X": X})
    return label, probabilities, Z


@pytest.mark.parametrize("method", ["melm", "pca", "identity"])
@pytest.mark.parametrize("labels", [["a", "ö", "c"], [3, 1, 2], [1.0, 2.0, 3.0]], ids=["text", "whole", "real"])
def test_a_runtime_without_python_gives_the_same(method: str, labels: list[Any]) -> None:
    X, y = mixture([60, 50, 40], 4)
    parameters: dict[str, Any] = {"regularization": None, "n_starts": 2} if method == "melm" else {}
    model = fit(method, X, np.array(labels)[y], **parameters)
    rows = 2 * np.random.default_rng(0).standard_normal((500, 4))
    label, probabilities, Z = run(model, rows)
    expected = model.predict_proba(rows)
    np.testing.assert_allclose(Z, model.transform(rows), atol=1e-12)
    np.testing.assert_allclose(probabilities, expected, atol=1e-9)
    ordered = np.sort(expected, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 1e-9
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(np.asarray(label)[clear], model.predict(rows)[clear])


def test_far_rows_get_probabilities_all_the_same() -> None:
    X, y = mixture([60, 50], 3)
    model = fit("melm", X, y, regularization=None, n_starts=2, priors=[1.0, 0.0])
    _, probabilities, _ = run(model, np.array([[1e4, 1e4, -1e4], [0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(probabilities, [[1.0, 0.0], [1.0, 0.0]])


def test_gaps_are_filled_as_the_model_learned_to() -> None:
    X, y = mixture([60, 50], 3)
    X[::7, 1] = np.nan
    data = Labeled.of_table(Table.of_numbers(X), y)
    parameters = METHODS["lda"].Parameters(n_components=1)
    model = run_plan(
        plan_fit("lda", data, parameters),
        lambda stage: [run_unit("lda", data, parameters, unit) for unit in stage.units],
    )
    _, probabilities, Z = run(model, X)
    np.testing.assert_allclose(Z, model.transform(data.X), atol=1e-12)
    np.testing.assert_allclose(probabilities, model.predict_proba(data.X), atol=1e-9)


def test_text_has_no_place_in_the_file() -> None:
    X, y = mixture([60, 50], 3)
    model = replace(fit("lda", X, y, n_components=1), encoder=Encoder((CategoryColumn("c", ("a", "b", "c"), False),)))
    with pytest.raises(onnx_file.TextColumns):
        onnx_file.dump(model)
