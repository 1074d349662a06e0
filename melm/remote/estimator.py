"""RemoteMELM: the estimator whose work is done by a service."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from melm.remote.arrays import Array
from melm.remote.client import Client
from melm.remote.models import Model
from melm.typing import Matrix


class RemoteMELM(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """`melm.MELM`, fitted and asked on a service.

    Works in pipelines, grid searches and `clone` as any estimator. A dataset that the service has is not sent again,
    and a fit that it has made before is not made again. Ctrl-C during `fit` cancels the fit on the service.

    Parameters
    ----------
    url : str
        The service's address.
    api_key : str or None, default=None
        None takes the variable MELM_API_KEY, which keeps the key out of what is printed and pickled.
    n_components, gamma, n_starts, covariance, regularization, objective, ridge
    select_start_by, priors, max_iterations, tolerance, random_state
        As of `melm.MELM`. How the work is spread and computed (`n_jobs`, `race`, `form`) is the service's business.

    Attributes
    ----------
    projection_ : ndarray of shape (n_features, n_components), orthonormal
    offset_ : ndarray of shape (n_features,)
    divergence_ : float
    gamma_ : float
    classes_ : ndarray of shape (n_classes,)
    fit_id_, model_id_ : str
        Where the fit and the model are on the service: `Client(url).models[model_id_]`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names

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
        self.random_state = random_state

    def fit(self, X: Matrix, y: npt.ArrayLike) -> Self:
        """Have the service find the projection of X that separates the classes of y, and their densities in it."""
        rows, labels = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2
        )
        check_classification_targets(labels)
        names = getattr(self, "feature_names_in_", None)
        client = connect(self.url, self.api_key)
        dataset = client.datasets.upload(rows, labels, feature_names=None if names is None else names.tolist())
        fit = client.fits.submit(dataset, params=self._params(), validation=None)
        model = fit.wait(on_interrupt="cancel")
        found = model.describe()
        self.fit_id_ = fit.id
        self.model_id_ = model.id
        self.classes_: Array = np.unique(labels)
        self.projection_: Array = np.array(found["projection"])
        self.offset_: Array = np.array(found["offset"])
        self.gamma_: float = found["card"]["gamma"]
        self.divergence_: float = found["card"]["in_sample"]["divergence"]
        return self

    def transform(self, X: Matrix) -> Array:
        """The rows of X in the projected space (n_samples, n_components)."""
        rows = self._check(X)
        return self._model.transform(rows)

    def predict(self, X: Matrix) -> Array:
        """The most probable class of each row."""
        rows = self._check(X)
        return self._model.predict(rows)

    def predict_proba(self, X: Matrix) -> Array:
        """P(class | row), columns in the order of `classes_`."""
        rows = self._check(X)
        return self._model.predict_proba(rows)

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

    def _check(self, X: Matrix) -> Matrix:
        check_is_fitted(self)
        rows: Matrix = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        return rows

    def _params(self) -> dict[str, Any]:
        """The parameters as the service takes them: plain values, and a seed."""
        given = {name: plain(value) for name, value in self.get_params(deep=False).items()}
        seed = given.pop("random_state")
        if not isinstance(seed, int):
            seed = int(check_random_state(seed).randint(2**31))
        del given["url"], given["api_key"]
        return {**given, "seed": seed}


@lru_cache(maxsize=8)
def connect(url: str, api_key: str | None) -> Client:
    """One client for all estimators of an address, so that they share its connections and can be pickled."""
    return Client(url, api_key)


def plain(value: Any) -> Any:
    """A NumPy value as a Python value; everything else as it is."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
