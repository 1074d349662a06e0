"""RemoteMELM: an estimator that is fitted on a service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from melm.remote.arrays import names_of
from melm.remote.client import Client
from melm.remote.models import Model
from melm.remote.records import Dataset
from melm.remote.table_body import frame_body, is_matrix
from melm.typing import AnyArray, Matrix


class RemoteMELM(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """`melm.MELM`, fitted and applied on a service.

    Works in pipelines, grid searches and `clone` like any estimator. A dataset that the service already has is not sent
    again, and the result of an equal earlier fit is reused. Ctrl-C during `fit` cancels the fit on the service.

    Parameters
    ----------
    url : str
        The address of the service.
    api_key : str or None, default=None
        The key of the service. None reads the environment variable MELM_API_KEY, which keeps the key out of `repr` and
        pickles.
    n_components, gamma, n_starts, covariance, regularization, objective, ridge
    select_start_by, priors, max_iterations, tolerance, random_state
        As in `melm.MELM`. The service decides how the work is parallelized and computed (`n_jobs`, `race`, `form`).
    columns : "auto", mapping or None, default="auto"
        How data frames of pandas, polars or Arrow are read. "auto" sends a frame with other values than numbers
        unchanged: the service infers the roles of its columns, imputes missing values and encodes text, categories and
        dates inside each fold. A mapping from names, or patterns such as `q*`, to roles does so for every frame; roles
        are numeric, categorical, time, id, group, weight, info or ignore. None accepts only numbers.

    Attributes
    ----------
    projection_ : ndarray of shape (n_features, n_components), orthonormal
    offset_ : ndarray of shape (n_features,)
    divergence_ : float
    gamma_ : float
    classes_ : ndarray of shape (n_classes,)
    fit_id_, model_id_ : str
        The ids of fit and model on the service: `Client(url).models[model_id_]`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X has column names
    columns_ : dict of str to str, or None
        The role of each column, if a data frame was read as a table.
    features_ : ndarray of str of shape (n_encoded_features,)
        The names of the features, which are the rows of `projection_`.

    Examples
    --------
    >>> from melm.remote import RemoteMELM
    >>> RemoteMELM("http://127.0.0.1:8000").fit(X, y).transform(X)  # doctest: +SKIP
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        n_components: int = 2,
        gamma: float | Sequence[float] | Literal["auto"] = 1.0,
        n_starts: int = 16,
        covariance: Literal["ledoit_wolf", "empirical"] = "ledoit_wolf",
        regularization: Literal["path"] | None = "path",
        objective: Literal["auto", "divergence", "posterior"] = "auto",
        ridge: float | Literal["auto"] = "auto",
        select_start_by: Literal["divergence", "balanced_accuracy"] = "divergence",
        priors: Literal["balanced", "empirical"] | Sequence[float] = "balanced",
        max_iterations: int | Literal["auto"] = "auto",
        tolerance: float = 1e-7,
        columns: Literal["auto"] | Mapping[str, str] | None = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.url = url
        self.api_key = api_key
        self.n_components = n_components
        self.gamma = gamma
        self.n_starts = n_starts
        self.covariance = covariance
        self.regularization = regularization
        self.objective = objective
        self.ridge = ridge
        self.select_start_by = select_start_by
        self.priors = priors
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.columns = columns
        self.random_state = random_state

    columns_: dict[str, str] | None
    _used: list[str] | None  # columns of data frames that the model uses; None if it was fitted to a matrix

    def fit(self, X: Any, y: npt.ArrayLike) -> Self:
        """Fit the projection that separates the classes, and their densities in it, on the service."""
        is_table = self._is_table(X)
        dataset, labels = self._upload_table(X, y) if is_table else self._upload_matrix(X, y)
        client = connect(self.url, self.api_key)
        fit = client.fits.submit(dataset, params=self._params(), validation=None)
        model = fit.wait(on_interrupt="cancel")
        found = model.describe()
        self.fit_id_ = fit.id
        self.model_id_ = model.id
        self.columns_ = roles_of(dataset) if is_table else None
        self.features_: AnyArray = features_of(found)
        self._used = model.schema()["required"] if is_table else None
        self.classes_: AnyArray = np.unique(labels)
        self.projection_: AnyArray = np.array(found["projection"])
        self.offset_: AnyArray = np.array(found["offset"])
        self.gamma_: float = found["card"]["gamma"]
        self.divergence_: float = found["card"]["in_sample"]["divergence"]
        return self

    def transform(self, X: Any) -> AnyArray:
        """The rows of X in the projected space (n_samples, n_components)."""
        rows = self._check(X)
        return self._model.transform(rows)

    def predict(self, X: Any) -> AnyArray:
        """The most probable class of each row."""
        rows = self._check(X)
        return self._model.predict(rows)

    def predict_proba(self, X: Any) -> AnyArray:
        """P(class | row), columns in the order of `classes_`."""
        rows = self._check(X)
        return self._model.predict_proba(rows)

    def log_density(self, X: Any) -> AnyArray:
        """Log density of each row under all classes together; it is low far from all training data."""
        rows = self._check(X)
        return self._model.log_density(rows)

    @property
    def _model(self) -> Model:
        return connect(self.url, self.api_key).models[self.model_id_]

    @property
    def _n_features_out(self) -> int:
        return int(self.projection_.shape[1])

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _is_table(self, X: Any) -> bool:
        """Whether X is a data frame that is sent unchanged."""
        if self.columns is None or names_of(X) is None:
            return False
        return isinstance(self.columns, Mapping) or not is_matrix(X)

    def _upload_matrix(self, X: Matrix, y: npt.ArrayLike) -> tuple[Dataset, AnyArray]:
        rows, labels = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2
        )
        check_classification_targets(labels)
        names = getattr(self, "feature_names_in_", None)
        client = connect(self.url, self.api_key)
        return client.datasets.upload(rows, labels, feature_names=None if names is None else names.tolist()), labels

    def _upload_table(self, X: Any, y: npt.ArrayLike) -> tuple[Dataset, AnyArray]:
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        names = names_of(X) or []
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        roles = self.columns if isinstance(self.columns, Mapping) else {}
        body = frame_body(X, labels)
        return connect(self.url, self.api_key).datasets.send(body, columns=roles), labels

    def _check(self, X: Any) -> Any:
        check_is_fitted(self)
        if self._used is not None:
            if names_of(X) is None:
                raise ValueError(
                    f"X is a {type(X).__name__}; the model takes a data frame with the columns of the fit."
                )
            unseen = [name for name in names_of(X) or () if name not in self.feature_names_in_]
            if unseen:
                raise ValueError(f"X has columns that were not there at fit: {', '.join(unseen[:20])}. Leave them out.")
            return with_columns(X, self._used)
        rows: Matrix = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        return rows

    def _params(self) -> dict[str, Any]:
        """The parameters for the service: plain values, and a seed."""
        given = {name: plain(value) for name, value in self.get_params(deep=False).items()}
        seed = given.pop("random_state")
        if not isinstance(seed, int):
            seed = int(check_random_state(seed).randint(2**31))
        del given["url"], given["api_key"], given["columns"]
        return {**given, "seed": seed}


@lru_cache(maxsize=8)
def connect(url: str, api_key: str | None) -> Client:
    """A client that all estimators with this address share. It is not an attribute, so that they can be pickled."""
    return Client(url, api_key)


def with_columns(frame: Any, names: Sequence[str]) -> Any:
    """The columns of a data frame that a model uses. The service reports those that are missing."""
    from narwhals.stable.v2 import from_native

    found = from_native(frame, eager_only=True)
    return found.select([name for name in names if name in found.columns]).to_native()


def roles_of(dataset: Dataset) -> dict[str, str]:
    """The role of each column but the target."""
    return {each["name"]: each["role"] for each in dataset.columns or () if each["role"] != "target"}


def features_of(model: Mapping[str, Any]) -> AnyArray:
    """The names of the features of a projection."""
    names = model["feature_names"] or [f"x{j}" for j in range(len(model["projection"]))]
    return np.array(names, dtype=object)


def plain(value: Any) -> Any:
    """A NumPy value as a Python value; other values unchanged."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
