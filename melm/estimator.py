"""MELM, the estimator: scikit-learn's conventions around a fit."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from melm.data.beyond_memory import by_block, check_features, is_beyond_memory, is_dask, open_rows
from melm.data.covariance import CovarianceKind
from melm.data.labeled import (
    Labeled,
    check_components,
    check_labels,
    check_not_negative,
    check_option,
    check_positive,
    check_whole,
    counted,
)
from melm.data.labeled_blocks import LabeledBlocks
from melm.data.taken import canonical
from melm.density.projected import Priors, class_priors
from melm.fitting import GAMMAS, Fitting, SelectStartBy
from melm.local import Callback, Done, Task, run_locally
from melm.model import Model
from melm.model import file as model_file
from melm.model.file import ModelFileError
from melm.objective.divergence import SPECTRAL_COMPONENTS, Form
from melm.plan import RowsLost, Unit
from melm.search.climb import StartResult, StoppingReason
from melm.search.path import ITERATIONS, RIDGES, Path
from melm.search.race import Search
from melm.search.regularization import Regularization
from melm.typing import Array, Matrix

MAX_ITERATIONS = 1000  # without a path


class MELM(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Maximum Entropy Linear Manifold: the linear projection in which the densities of the classes differ most.

    Finds an orthonormal V (n_features, n_components) that maximizes the Cauchy-Schwarz divergence between kernel
    density estimates of the projected classes, by L-BFGS from many starts, and classifies by these densities.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the projection. Up to 3, an evaluation costs time linear in the rows; beyond, a kernel for each
        pair of rows, and at most 20,000 rows are taken.
    gamma : float, sequence of float or "auto", default=1.0
        Scale of Silverman's kernel width. From several, the one with the best cross-validated balanced accuracy is
        chosen; "auto" tries 0.5, 0.7, 1, 1.4 and 2.
    n_starts : int, default=16
        Starts of the optimizer: a few informed ones first, then random ones. More never give a lower divergence. A path
        begins at two starts of its own, and with more than two classes also at the best of these.
    covariance : {"ledoit_wolf", "empirical"}, default="ledoit_wolf"
        Covariance of a class. "empirical" is the paper's; "ledoit_wolf" tames many features and few rows.
    regularization : {"path"} or None, default="path"
        "path" chooses by rows that inner folds hold out where each climb stops, on which objective and with which
        ridge, so that the picture holds on new rows. None is the paper's MELM: the start with the highest divergence.
    objective : {"auto", "divergence", "posterior"}, default="auto"
        What a path climbs: the divergence, the leave-one-out log posterior of the classes, or with "auto" the one after
        the other. The posterior needs a path.
    ridge : float or "auto", default="auto"
        Added to the variance of every standardized feature in the covariance of each class. With many features for
        the rows there are, around 1 keeps the projection from chance directions; far above it, only the differences
        of the class means are left. "auto" chooses from 0, 1 and 3 on a path, and is 0 without one.
    select_start_by : {"divergence", "balanced_accuracy"}, default="divergence"
        How the best start is chosen without a path: by its divergence, or by the leave-one-out balanced accuracy of the
        densities it leads to. The race is always run by divergence and would drop optima that only the second likes,
        so "balanced_accuracy" converges every start.
    priors : {"balanced", "empirical"} or sequence of float, default="balanced"
        Class probabilities of the classifier, in the order of `classes_`.
    race : bool, default=True
        Without a path: run all starts coarsely and converge only those that are among the best four so far. From 40,000
        rows on they race on samples first, and only the best climb on all rows. False converges all starts on all rows.
    max_iterations : int or "auto", default="auto"
        Of the optimizer, for each start. "auto" chooses from 0 to 30 on a path, and is 1000 without one.
    tolerance : float, default=1e-7
        A start has converged when no entry of the gradient is larger, or when a step gains less than a thousandth of
        it.
    form : {"auto", "exact", "spectral"}, default="auto"
        How the divergence is computed: over all pairs of rows, over frequencies, or whichever is cheaper.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Processes over which starts are spread. The result is the same, bit for bit.
    warm_start : bool, default=False
        Go on where the last fit of the same rows with the same parameters lost its rows, as when Dask's scheduler
        ended. The result is that of a fit that was not cut off, bit for bit.
    callback : callable or None, default=None
        Called with a `Progress` after each unit of work; the fit ends with the best so far when it returns True.

    Attributes
    ----------
    projection_ : ndarray of shape (n_features, n_components), orthonormal
    offset_ : ndarray of shape (n_features,)
        The mean of the training rows; `transform` is (X - offset_) @ projection_.
    divergence_ : float
    gamma_ : float
    classes_ : ndarray of shape (n_classes,)
    starts_ : list of StartResult
    model_ : Model
        The same as one immutable object, with its card.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names

    Notes
    -----
    Rows may be a sparse matrix of scipy, which is never made dense. Where features are more than rows, the fit is done
    in the span of the rows, which is exact. Where both are more than 2,000, or the rows are sparse and more than the
    features, of which there are more than 500, it is done in 500 directions: the class means and the leading ones.

    References
    ----------
    Czarnecki, Jozefowicz, Tabor: Maximum Entropy Linear Manifold for Learning Discriminative Low-Dimensional
    Representation. ECML PKDD 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from melm import MELM
    >>> X, y = load_wine(return_X_y=True)
    >>> MELM(n_starts=4, random_state=0).fit(X, y).transform(X).shape
    (178, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        gamma: float | Sequence[float] | Literal["auto"] = 1.0,
        n_starts: int = 16,
        covariance: CovarianceKind = "ledoit_wolf",
        regularization: Literal["path"] | None = "path",
        objective: Literal["auto", "divergence", "posterior"] = "auto",
        ridge: float | Literal["auto"] = "auto",
        select_start_by: SelectStartBy = "divergence",
        priors: Priors = "balanced",
        race: bool = True,
        max_iterations: int | Literal["auto"] = "auto",
        tolerance: float = 1e-7,
        form: Form = "auto",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        callback: Callback | None = None,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.n_starts = n_starts
        self.covariance = covariance
        self.regularization = regularization
        self.objective = objective
        self.ridge = ridge
        self.select_start_by = select_start_by
        self.priors = priors
        self.race = race
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.form = form
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.callback = callback

    def fit(self, X: Matrix, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Find the projection of X that separates the classes of y, and fit their densities in it.

        A weight is how often its row counts: one of weight 3 is three rows, one of weight 0 is none. Class sizes,
        kernels, covariances and scores go by sums of weights; folds, and whatever leaves one out, take a row whole.
        """
        if is_beyond_memory(X):
            data: Labeled = self._open(X, y, sample_weight)
        else:
            data = self._check_training(X, y, sample_weight)
        fitting = self.fitting(self.n_features_in_)
        class_priors(fitting.priors, np.bincount(data.codes, data.weights).tolist())

        def task(units: Sequence[Unit]) -> Task:
            return fitting.task(data, units, _never)

        fit_of = (repr(fitting), data.fingerprint if isinstance(data, LabeledBlocks) else None)
        cut_off, before = self.__dict__.pop("_cut_off", (None, Done()))
        done = before if self.warm_start and cut_off == fit_of else Done()
        n_jobs = None if is_dask(X) else self.n_jobs  # rows of Dask are spread already
        try:
            with threadpool_limits(1):
                model, starts = run_locally(fitting.plan(data), task, n_jobs, self.callback, done)
        except RowsLost as lost:
            self._cut_off = (fit_of, done)
            raise RowsLost(f"{lost} With warm_start=True, a fit of the same rows goes on from there.") from lost
        self._adopt(model, starts)
        best = model.card.search and model.card.search.best_start
        if any(s.index == best and s.stopping_reason is StoppingReason.MAX_ITERATIONS for s in starts):
            warnings.warn(
                f"The best start did not converge within max_iterations={self.max_iterations}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _check_training(self, X: Matrix, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None) -> Labeled:
        given, labels = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2
        )
        rows, labels, weights = counted(canonical(given), labels, sample_weight)
        codes, classes = check_labels(labels, weights)
        names = getattr(self, "feature_names_in_", None)
        return Labeled(rows, codes, classes, None if names is None else names.tolist(), weights=weights)

    def _open(self, X: Any, y: Any, sample_weight: object) -> Labeled:
        if sample_weight is not None:
            raise ValueError("Rows beyond memory have no sample_weight.")
        data = open_rows(X, y, _seed(self.random_state))
        self.n_features_in_ = data.blocks.n_features
        if data.feature_names is not None:
            self.feature_names_in_ = np.array(data.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return data

    def transform(self, X: Matrix) -> Array:
        """The rows of X in the projected space (n_samples, n_components)."""
        return self._of_rows(X, self._fitted.transform, self._n_features_out)

    def predict(self, X: Matrix) -> npt.NDArray[Any]:
        """The most probable class of each row."""
        return self._of_rows(X, self._fitted.predict)

    def predict_proba(self, X: Matrix) -> Array:
        """P(class | row), columns in the order of `classes_`."""
        return self._of_rows(X, self._fitted.predict_proba, len(self.classes_))

    def log_density(self, X: Matrix) -> Array:
        """Log density of all classes together at each row: low where a row is far from all training data."""
        return self._of_rows(X, self._fitted.log_density)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model as one .npz file."""
        check_is_fitted(self)
        pathlib.Path(path).write_bytes(model_file.dump(self.model_))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """An estimator from a file made by `save` or by a service. Its predictions are equal, bit for bit."""
        return cls.from_model(model_file.load(pathlib.Path(path).read_bytes()))

    @classmethod
    def from_model(cls, model: Model) -> Self:
        """A fitted estimator around a model."""
        search = model.card.search
        if search is None:
            raise ModelFileError(f"The model was fitted by the method {model.method!r}, not by melm.")
        estimator = cls(n_components=model.projection.shape[1], gamma=model.card.gamma)
        estimator.n_features_in_ = len(model.projection)
        if model.feature_names is not None:
            estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
        starts = [
            StartResult(
                index=start.start,
                seed=search.seed,
                divergence=start.divergence,
                n_rows=start.n_rows,
                n_evaluations=start.n_evaluations,
                stopping_reason=StoppingReason(start.stopping_reason),
                projection=np.empty((0, 0)),
            )
            for start in search.starts
        ]
        estimator._adopt(model, starts)
        return estimator

    def _adopt(self, model: Model, starts: list[StartResult]) -> None:
        self.model_ = model
        self.starts_ = starts
        self.projection_: Array = model.projection
        self.offset_: Array = model.offset
        self.classes_: npt.NDArray[Any] = model.classes
        self.gamma_: float = model.card.gamma
        self.divergence_: float = model.card.in_sample.divergence if model.card.in_sample else np.nan

    @property
    def _n_features_out(self) -> int:
        return int(self.projection_.shape[1])

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _fitted(self) -> Model:
        check_is_fitted(self)
        return self.model_

    def _of_rows(
        self, X: Matrix, function: Callable[[Matrix], npt.NDArray[Any]], n_columns: int | None = None
    ) -> npt.NDArray[Any]:
        """What the model makes of rows; of rows of Dask lazily, and of files block by block."""
        if is_beyond_memory(X):
            names = getattr(self, "feature_names_in_", None)
            check_features(X, self.n_features_in_, names)
            lazily: npt.NDArray[Any] = by_block(X, function, n_columns, names)
            return lazily
        return function(validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]))

    def fitting(self, n_features: int) -> Fitting:
        """The parameters, checked: the fit as a plan that other processes can run as well."""
        check_option("covariance", self.covariance, get_args(CovarianceKind))
        check_option("select_start_by", self.select_start_by, get_args(SelectStartBy))
        check_option("form", self.form, get_args(Form))
        check_option("objective", self.objective, ("auto", "divergence", "posterior"))
        if isinstance(self.priors, str):
            check_option("priors", self.priors, ("balanced", "empirical"))
        n_components = check_components(self.n_components, n_features)
        if self.form == "spectral" and n_components > SPECTRAL_COMPONENTS:
            raise ValueError(f"form='spectral' goes up to {SPECTRAL_COMPONENTS} components, got {n_components}.")
        ridges = RIDGES if self.ridge == "auto" else (check_not_negative("ridge", self.ridge),)
        limits = (
            ITERATIONS if self.max_iterations == "auto" else (check_whole("max_iterations", self.max_iterations, 1),)
        )
        search = Search(
            n_components=n_components,
            n_starts=check_whole("n_starts", self.n_starts, 1),
            covariance=self.covariance,
            ridge=ridges[0],
            form=self.form,
            race=bool(self.race) and self.select_start_by == "divergence",
            max_iterations=MAX_ITERATIONS if self.max_iterations == "auto" else limits[0],
            tolerance=check_positive("tolerance", self.tolerance),
            seed=_seed(self.random_state),
        )
        gammas = _gammas(self.gamma)
        if self.regularization is None:
            if self.objective == "posterior":
                raise ValueError("objective='posterior' needs regularization='path'.")
            return Fitting(search, gammas, self.select_start_by, self.priors)
        check_option("regularization", self.regularization, ("path",))
        if self.select_start_by != "divergence" or not self.race:
            raise ValueError("select_start_by and race=False need regularization=None.")
        path = Path(
            n_components=n_components,
            covariance=self.covariance,
            ridges=ridges,
            gammas=gammas,
            objectives=("divergence", "posterior") if self.objective == "auto" else (self.objective,),
            iterations=limits,
            n_starts=search.n_starts,
            form=self.form,
            tolerance=search.tolerance,
            seed=search.seed,
        )
        return Fitting(search, gammas, self.select_start_by, self.priors, Regularization(path))


def _gammas(gamma: object) -> tuple[float, ...]:
    if isinstance(gamma, str):
        check_option("gamma", gamma, ("auto",))
        return GAMMAS
    if isinstance(gamma, Sequence | np.ndarray):
        if len(gamma) == 0:
            raise ValueError("gamma=[] offers nothing to choose from.")
        return tuple(dict.fromkeys(check_positive("gamma", value) for value in gamma))
    return (check_positive("gamma", gamma),)


def _seed(random_state: int | np.random.RandomState | None) -> int:
    if isinstance(random_state, int | np.integer):
        return check_whole("random_state", random_state, 0)
    return int(check_random_state(random_state).randint(2**31))


def _never() -> bool:
    return False
