"""Models on the service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from melm.remote import arrays
from melm.remote.arrays import CSV, NPY, NPZ, Array
from melm.remote.connection import Connection
from melm.remote.records import ModelRecord

if TYPE_CHECKING:
    from melm.estimator import MELM


@dataclass(frozen=True)
class Answer:
    """What a model says about rows, and what it made no use of or had not seen."""

    content: bytes
    warnings: list[str]


class Model:
    """A handle on one model, by its id or an alias. An alias may come to stand for another model at any time."""

    def __init__(self, connection: Connection, id: str, record: ModelRecord | None = None) -> None:
        self._connection = connection
        self._record = record
        self.id = id

    def __repr__(self) -> str:
        return f"<Model {self.id}>"

    @property
    def record(self) -> ModelRecord:
        """The model's summary."""
        return self._record or ModelRecord.of(self.describe())

    def describe(self) -> dict[str, Any]:
        """Everything the model says of itself: projection, offset, classes, feature names, and its card."""
        document: dict[str, Any] = self._connection.get(self._path())
        return document

    def transform(self, X: npt.ArrayLike) -> Array:
        """The rows of X in the projected space (n, k)."""
        return self._ask("transform", X)

    def predict(self, X: npt.ArrayLike) -> Array:
        """The most probable label of each row, as the labels were given."""
        return self._ask("predict", X)

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """P(class | row), columns in the order of the classes."""
        return self._ask("predict_proba", X)

    def log_density(self, X: npt.ArrayLike) -> Array:
        """Log density of all classes together at each row: low where a row is far from all training data."""
        response = self._post("predict_proba", X, accept=NPZ, params={"log_density": "true"})
        density: Array = arrays.read(response)["log_density"]
        return density

    def ask(self, question: str, content: bytes, media_type: str, accept: str, **options: Any) -> Answer:
        """What the model says to `transform`, `predict`, `predict_proba` or `score` about the rows of a file."""
        response = self._connection.send(
            "POST",
            self._path(f"/{question}"),
            headers={"Content-Type": media_type, "Accept": accept},
            content=content,
            params={name: value for name, value in options.items() if value is not None},
        )
        return Answer(response.content, json.loads(response.headers.get("Melm-Warnings", "[]")))

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike) -> dict[str, Any]:
        """Balanced accuracy, accuracy, log loss, confusion and divergence on labeled rows."""
        named = feature_names(X)
        body = arrays.write_npz(X=arrays.as_rows(X), y=arrays.as_labels(y), **named)
        response = self._connection.send("POST", self._path("/score"), content=body, headers={"Content-Type": NPZ})
        scores: dict[str, Any] = response.json()
        return scores

    def plot(self) -> str:
        """A drawing of the classes in the projection, as SVG."""
        return self._connection.send("GET", self._path("/plot.svg")).text

    def file(self) -> bytes:
        """The model as the bytes of an .npz file, which `melm.model_file` reads."""
        return self._connection.send("GET", self._path("/file"), headers={"Accept": NPZ}).content

    def download(self, path: str | PathLike[str]) -> Path:
        """Write the model's file; `melm predict` and `MELM.load` read it."""
        target = Path(path)
        target.write_bytes(self.file())
        return target

    def to_local(self) -> MELM:
        """The model as an estimator of this process, whose predictions are the service's bit for bit."""
        from melm.estimator import MELM
        from melm.model_file import load

        return MELM.from_model(load(self.file()))

    def alias(self, alias: str) -> Model:
        """Let an alias stand for this model; returns the model under that name."""
        self._connection.send("PUT", f"/v1/aliases/{alias}", json={"model_id": self.record.id})
        return Model(self._connection, alias)

    def delete(self) -> None:
        """Delete the model; a `Conflict` while an alias names it."""
        self._connection.send("DELETE", self._path())

    def _path(self, rest: str = "") -> str:
        return f"/v1/models/{self.id}{rest}"

    def _ask(self, question: str, X: npt.ArrayLike) -> Array:
        answer: Array = arrays.read(self._post(question, X, accept=NPY))
        return answer

    def _post(self, question: str, X: npt.ArrayLike, accept: str, **options: Any) -> bytes:
        if (table := arrays.table_of(X)) is not None:
            return self.ask(question, table, CSV, accept, **options.get("params", {})).content
        rows, named = arrays.as_rows(X), feature_names(X)
        content = arrays.write_npz(X=rows, **named) if named else arrays.write_npy(rows)
        headers = {"Content-Type": NPZ if named else NPY, "Accept": accept}
        response = self._connection.send(
            "POST", self._path(f"/{question}"), headers=headers, content=content, **options
        )
        return response.content


class Models:
    """`client.models`: iterate over all, newest first, or take one by its id or alias."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __iter__(self) -> Iterator[Model]:
        for document in self._connection.pages("/v1/models"):
            record = ModelRecord.of(document)
            yield Model(self._connection, record.id, record)

    def __getitem__(self, id: str) -> Model:
        return Model(self._connection, id)

    def upload(self, path: str | PathLike[str], *, name: str | None = None) -> Model:
        """Bring a model's file to the service."""
        response = self._connection.send(
            "POST",
            "/v1/models",
            params={} if name is None else {"name": name},
            headers={"Content-Type": NPZ},
            content=Path(path).read_bytes(),
        )
        return Model(self._connection, response.json()["id"])


def feature_names(X: object) -> dict[str, Array]:
    """The column names of a data frame, by which the service puts columns in order."""
    names = arrays.names_of(X)
    return {} if names is None else {"feature_names": np.array(names, dtype=np.str_)}
