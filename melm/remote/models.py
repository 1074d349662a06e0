"""Models on the service."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from melm.remote import arrays
from melm.remote.arrays import NPY, NPZ
from melm.remote.connection import HttpConnection
from melm.remote.display import Displayed, Summary, sizes
from melm.remote.errors import RowsWarning
from melm.remote.records import ModelRecord
from melm.remote.table_body import RowsLike, TableBody, table_body
from melm.typing import AnyArray

if TYPE_CHECKING:
    from melm.estimator import MELM


@dataclass(frozen=True)
class ModelAnswer:
    """The response of a model to rows, with warnings about them."""

    content: bytes
    warnings: list[str]


class Model(Displayed):
    """A handle on a model, by its id or an alias. An alias may be moved to another model at any time."""

    def __init__(self, connection: HttpConnection, id: str, record: ModelRecord | None = None) -> None:
        self._connection = connection
        self._record = record
        self.id = id

    def __repr__(self) -> str:
        return f"<Model {self.id}>"

    def _summary(self) -> Summary:
        found = self.describe()
        card = found["card"]
        data, n_components = card["data"], len(found["projection"][0])
        components = "1 component" if n_components == 1 else f"{n_components} components"
        called = found["id"] if self.id == found["id"] else f"{self.id} ({found['id']})"
        return Summary(
            f"Model {called} by {found['method']}, {components}: "
            f"{sizes(data['n_rows'], data['n_features'], data['classes'], data['class_counts'])}",
            [card["verdict"]["next"]],
            card["verdict"]["sentence"],
            calls=("model.predict(X)", "model.transform(X)", "model.report()", "model.to_local()"),
            page=self.page,
            warnings=card["warnings"],
        )

    def _picture(self) -> str:
        return self.plot()

    @property
    def record(self) -> ModelRecord:
        """The model's summary."""
        return self._record or ModelRecord.of(self.describe())

    @property
    def page(self) -> str:
        """The URL of the model's page."""
        return page_of(self._connection, "models", self.id)

    def describe(self) -> dict[str, Any]:
        """The model as a dict: projection, offset, classes, feature names, and card."""
        document: dict[str, Any] = self._connection.get(self._path())
        return document

    def transform(self, X: RowsLike) -> AnyArray:
        """The rows of X in the projected space (n, k)."""
        return read_array(self._post("transform", X, NPY))

    def predict(self, X: RowsLike) -> AnyArray:
        """The most probable label of each row, of the type that the training labels have."""
        return read_array(self._post("predict", X, NPY))

    def predict_proba(self, X: RowsLike) -> AnyArray:
        """P(class | row), columns in the order of the classes."""
        return read_array(self._post("predict_proba", X, NPY))

    def log_density(self, X: RowsLike) -> AnyArray:
        """Log density of each row under all classes together; it is low far from all training data."""
        density: AnyArray = arrays.read(self._post("predict_proba", X, NPZ, log_density="true"))["log_density"]
        return density

    def score(self, X: RowsLike, y: npt.ArrayLike | None = None, *, target: str | None = None) -> dict[str, Any]:
        """Balanced accuracy, accuracy, log loss, confusion matrix and divergence on rows labeled by `y` or a column."""
        if (y is None) == (target is None):
            raise ValueError("Labels are either y or a column of the table, named by target.")
        body = body_of(X, y)
        answer = self.ask("score", body, "application/json", target=body.target or target)
        scores: dict[str, Any] = json.loads(answer.content)
        warn(scores.get("warnings") or (), stacklevel=3)
        return scores

    def ask(self, question: str, body: TableBody, accept: str, **options: Any) -> ModelAnswer:
        """Send a body to `transform`, `predict`, `predict_proba` or `score`, and accept a media type."""
        response = self._connection.send(
            "POST",
            self._path(f"/{question}"),
            headers={**body.headers, "Accept": accept},
            content=body.content,
            params={"raw": "true", **{name: value for name, value in options.items() if value is not None}},
        )
        return ModelAnswer(response.content, json.loads(response.headers.get("Melm-Warnings", "[]")))

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of an input row of the model."""
        document: dict[str, Any] = self._connection.get(self._path("/schema"))
        return document

    def plot(self) -> str:
        """A plot of the classes in the projection, as SVG."""
        return self._connection.send("GET", self._path("/plot.svg")).text

    def plotted(self, max_points: int | None = None) -> dict[str, Any]:
        """The data of the plot: points, held-out rows, contours and decision boundary of each panel."""
        document: dict[str, Any] = self._connection.get(self._path("/plot"), max_points=max_points)
        return document

    def report(self) -> str:
        """The card of the model as a self-contained HTML document."""
        return self._connection.send("GET", self._path("/report"), headers={"Accept": "text/html"}).text

    def features(self) -> dict[str, AnyArray]:
        """The features of the training rows, standardized, with row numbers and class codes."""
        content = self._connection.send("GET", self._path("/features"), headers={"Accept": NPZ}).content
        return dict(arrays.read(content))

    def separation(self, V: npt.ArrayLike) -> dict[str, Any]:
        """Divergence and leave-one-out score of the training rows in another projection V (n_features, k)."""
        document: dict[str, Any] = self._connection.send(
            "POST", self._path("/separation"), json={"V": np.asarray(V, np.float64).tolist()}
        ).json()
        return document

    def file(self) -> bytes:
        """The model as the bytes of an .npz file, which `melm.model.file` reads."""
        return self._connection.send("GET", self._path("/file"), headers={"Accept": NPZ}).content

    def download(self, path: str | PathLike[str]) -> Path:
        """Write the model to a file, which `melm predict` and `MELM.load` read."""
        target = Path(path)
        target.write_bytes(self.file())
        return target

    def to_local(self) -> MELM:
        """The model as a local estimator. Its predictions are bit-identical to those of the service."""
        from melm.estimator import MELM
        from melm.model.file import load

        return MELM.from_model(load(self.file()))

    def alias(self, alias: str) -> Model:
        """Create an alias for this model, or move it here; returns the model by its alias."""
        self._connection.send("PUT", f"/v1/aliases/{alias}", json={"model_id": self.record.id})
        return Model(self._connection, alias)

    def delete(self) -> None:
        """Delete the model; a `Conflict` while an alias names it."""
        self._connection.send("DELETE", self._path())

    def _path(self, rest: str = "") -> str:
        return f"/v1/models/{self.id}{rest}"

    def _post(self, question: str, X: RowsLike, accept: str, **options: Any) -> bytes:
        answer = self.ask(question, body_of(X), accept, **options)
        warn(answer.warnings, stacklevel=4)
        return answer.content


class Models:
    """`client.models`: iterate over all, newest first, or take one by its id or alias."""

    def __init__(self, connection: HttpConnection) -> None:
        self._connection = connection

    def __iter__(self) -> Iterator[Model]:
        for document in self._connection.pages("/v1/models"):
            record = ModelRecord.of(document)
            yield Model(self._connection, record.id, record)

    def __getitem__(self, id: str) -> Model:
        return Model(self._connection, id)

    def aliases(self) -> dict[str, str]:
        """All aliases, each with the id of its model."""
        return {each["alias"]: each["model_id"] for each in self._connection.get("/v1/aliases")["data"]}

    def delete_alias(self, alias: str) -> None:
        """Delete an alias; its model is kept."""
        self._connection.send("DELETE", f"/v1/aliases/{alias}")

    def upload(self, path: str | PathLike[str], *, name: str | None = None) -> Model:
        """Upload the file of a model."""
        response = self._connection.send(
            "POST",
            "/v1/models",
            params={} if name is None else {"name": name},
            headers={"Content-Type": NPZ},
            content=Path(path).read_bytes(),
        )
        return Model(self._connection, response.json()["id"])


def page_of(connection: HttpConnection, kind: str, id: str) -> str:
    """The URL of a resource's page."""
    return f"{connection.url}/#/{kind}/{id}"


def body_of(X: RowsLike, y: npt.ArrayLike | None = None) -> TableBody:
    """A request body with rows of any type. It includes the column names of a data frame."""
    if (table := table_body(X, y)) is not None:
        return table
    names = arrays.names_of(X)
    others = {} if y is None else {"y": arrays.as_labels(y)}
    if names is not None:
        others["feature_names"] = np.array(names, dtype=np.str_)
    return TableBody(*arrays.write_rows(arrays.as_rows(X), **others))


def read_array(content: bytes) -> AnyArray:
    """The array in an npy file."""
    array: AnyArray = arrays.read(content)
    return array


def warn(remarks: Iterable[str], stacklevel: int) -> None:
    """Issue the warnings of a response, at the line of the caller."""
    for remark in remarks:
        warnings.warn(remark, RowsWarning, stacklevel=stacklevel)
