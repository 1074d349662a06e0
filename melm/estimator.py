"""MELM, the estimator: scikit-learn's conventions around a fit."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Literal, Self, TypeVar, get_args

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from melm.data.beyond_memory import by_block, check_features, is_beyond_memory, is_dask, open_rows
from melm.data.covariance import CovarianceKind
from melm.data.frames import Columns, is_frame, is_table, read_rows, read_training
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
from melm.evidence.ceiling import run_ceiling
from melm.evidence.resampling import plan_evidence
from melm.evidence.validation import Validation
from melm.evidence.verdict import judge_card
from melm.fitting import GAMMAS, Fitting, SelectStartBy
from melm.local import Callback, Task, Tasks, UnitResults, progress_bar, run_locally
from melm.model import Model
from melm.model import file as model_file
from melm.model.card import Verdict
from melm.model.display import plot
from melm.model.file import ModelFileError
from melm.objective.divergence import SPECTRAL_COMPONENTS, Form
from melm.plan import Plan, Resamples, Result, RowsLost, Unit
from melm.search.climb import StartResult, StoppingReason
from melm.search.path import ITERATIONS, RIDGES, Path
from melm.search.race import Search
from melm.search.regularization import Regularization
from melm.tables.encoding import Encoder
from melm.tables.roles import Proposal
from melm.tables.rows import shown
from melm.typing import Array, Matrix, never

T = TypeVar("T")

MAX_ITERATIONS = 1000  # without a path
DESCRIBED = (  # parameters that are recorded in the card
    *("gamma", "covariance", "priors", "n_components", "n_starts", "regularization", "objective", "ridge"),
    *("select_start_by", "max_iterations", "tolerance"),
)


class MELM(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Maximum Entropy Linear Manifold: the linear projection in which the densities of the classes differ most.

    Finds an orthonormal V (n_features, n_components) that maximizes the Cauchy-Schwarz divergence between kernel
    density estimates of the projected classes, by L-BFGS from many starts, and classifies by these densities.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the projection. Up to 3, the time of an evaluation is linear in the number of rows. Beyond, it is
        quadratic, and at most 20,000 rows are accepted.
    gamma : float, sequence of float or "auto", default=1.0
        Factor on the kernel width of Silverman's rule. Of several values, the one with the best cross-validated
        balanced accuracy is chosen; "auto" tries 0.5, 0.7, 1, 1.4 and 2.
    n_starts : int, default=16
        Number of starts of the optimizer: a few informed ones first, then random ones. More starts never give a lower
        divergence. A regularization path begins at two starts of its own and, with more than two classes, also at the
        best of these.
    covariance : {"ledoit_wolf", "empirical"}, default="ledoit_wolf"
        Estimate of the covariance of a class. "empirical" is that of the paper; "ledoit_wolf" shrinks it, which helps
        with many features and few rows.
    regularization : {"path"} or None, default="path"
        "path" follows a regularization path: cross-validation on inner folds chooses the objective, the ridge and the
        iteration at which a climb stops, so that the picture holds on new rows. None is the MELM of the paper: the
        start with the highest divergence.
    objective : {"auto", "divergence", "posterior"}, default="auto"
        What a path maximizes: the divergence, the leave-one-out log posterior of the classes, or with "auto" one after
        the other. "posterior" needs a path.
    ridge : float or "auto", default="auto"
        Added to the variance of every standardized feature in the covariance of each class. With many features and
        few rows, a ridge around 1 keeps the projection from following chance directions. Far above 1, only the
        differences of the class means count. "auto" chooses from 0, 1 and 3 on a path, and is 0 without one.
    select_start_by : {"divergence", "balanced_accuracy"}, default="divergence"
        How the best start is chosen without a path: by its divergence, or by the leave-one-out balanced accuracy of its
        class densities. The race compares divergences only and could drop the start with the best accuracy, so
        "balanced_accuracy" runs every start to convergence.
    priors : {"balanced", "empirical"} or sequence of float, default="balanced"
        Class probabilities of the classifier, in the order of `classes_`.
    race : bool, default=True
        Without a path: run all starts coarsely, and only those among the best four so far to convergence. From 40,000
        rows on, the race is run on samples first, and only the best starts are run on all rows. False runs all starts
        to convergence on all rows.
    max_iterations : int or "auto", default="auto"
        Limit on the iterations of the optimizer for each start. "auto" chooses from 0 to 30 on a path, and is 1000
        without one.
    tolerance : float, default=1e-7
        A start has converged when no entry of the gradient is larger than this, or when a step gains less than a
        thousandth of this.
    form : {"auto", "exact", "spectral"}, default="auto"
        How the divergence is computed: over all pairs of rows, over frequencies, or whichever is cheaper.
    columns : "auto", None or mapping of str to str, default="auto"
        The roles of the columns of a DataFrame (pandas, polars, pyarrow). With "auto", a DataFrame with text,
        categories, dates or missing values is read as the service reads a table: every column gets a role, and columns
        that are not numeric are encoded, in each fold from its training rows. Arrays and all-numeric DataFrames are
        used as they are. A mapping sets roles by name, or by a pattern such as `q*`: "numeric", "categorical", "time",
        "id", "group", "weight", "info" or "ignore"; the other columns are as with "auto". None accepts numeric columns
        only.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Number of processes that share the starts. The result does not depend on it, bit for bit.
    warm_start : bool, default=False
        Resume the last fit of the same rows with the same parameters where it lost access to its rows, for instance
        because Dask's scheduler ended. The result equals that of an uninterrupted fit, bit for bit.
    verbose : bool, default=False
        Show a progress bar with the stage, the folds and the remaining time.
    callback : callable or None, default=None
        Called with a `Progress` after each unit of work. When it returns True, the fit ends with the best result so
        far.

    Attributes
    ----------
    projection_ : ndarray of shape (n_features, n_components), orthonormal
        One row for each of `features_`.
    offset_ : ndarray of shape (n_features,)
        The mean of the training rows; `transform` is ``(X - offset_) @ projection_``.
    divergence_ : float
    gamma_ : float
    classes_ : ndarray of shape (n_classes,)
    starts_ : list of StartResult
    model_ : Model
        The same as one immutable object, with its card.
    verdict_ : Verdict
        How far the separation holds on new rows. Needs held-out rows: `MELM().fit(X, y).validate(X, y).verdict_`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names
    columns_ : dict of str to Proposal, or None
        The role of each column and the reason for it, if a DataFrame was read as a table.
    encoder_ : Encoder or None
        Encodes rows of such a table as numbers, by medians, categories and parts of dates.
    features_ : ndarray of str of shape (n_encoded_features,)
        Names of the rows of `projection_`: the columns of X, or the encoded features if there is an `encoder_`.

    Notes
    -----
    X may be a SciPy sparse matrix, which is never converted to a dense one. With more features than rows, the fit is
    done in the span of the rows, which is exact. With more than 2,000 rows and more than 2,000 features, it is done in
    500 directions: the class means and the leading ones. The same holds for a sparse matrix with more than 500 features
    and more rows than features.

    See Also
    --------
    melm.plot : Draws a fitted estimator.
    melm.remote.RemoteMELM : The same estimator, fitted by a service.

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

    Fit a DataFrame with a column of text, and check whether the picture holds on new rows:

    >>> table = load_wine(as_frame=True).frame.assign(shop=["north", "south"] * 89)
    >>> X, y = table.drop(columns="target"), table["target"]
    >>> estimator = MELM(regularization=None, n_starts=4, random_state=0).fit(X, y).validate(X, y)
    >>> estimator.features_[-2:].tolist()
    ['shop=north', 'shop=south']
    >>> estimator.verdict_.level.value
    'clear'
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
        columns: Columns = "auto",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: bool = False,
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
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Matrix, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Find the projection of X that separates the classes of y, and fit their densities in it.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, or rows beyond memory
            The rows. A DataFrame of pandas, polars or pyarrow may hold text, categories, dates and missing values; see
            `columns`. Paths of files, pyarrow datasets, large memory-mapped arrays, Dask arrays and Dask DataFrames
            are read block by block.
        y : array-like of labels
            The class of each row. For files and Dask DataFrames, the name of the column that holds it.
        sample_weight : array-like, optional
            How often each row counts: a row of weight 3 counts as three rows, a row of weight 0 is ignored. Class
            sizes, kernels, covariances and scores use sums of weights. Folds and leave-one-out scores never divide a
            row.

        Returns
        -------
        MELM
            The fitted estimator. Call `validate` to find out whether the picture holds on new rows.
        """
        data, self.columns_ = self._training(X, y, sample_weight)
        fitting = self.fitting(data.X.shape[1] if self.columns_ else self.n_features_in_)
        class_priors(fitting.priors, np.bincount(data.codes, data.weights).tolist())

        def task(units: Sequence[Unit]) -> Task:
            return fitting.task(data, units, never)

        rows = data.fingerprint if isinstance(data, LabeledBlocks) else None
        model, starts = self._run(fitting.plan(data), task, X, self._begun(("fit", repr(fitting), rows)))
        parameters = {name: _plain(getattr(self, name)) for name in DESCRIBED} | {"seed": fitting.search.seed}
        card = model.card.model_copy(update={"parameters": parameters, "validation": None})
        self._adopt(replace(model, card=card.model_copy(update={"verdict": judge_card(card)})), starts)
        self._finds_columns = self.columns_ is not None
        best = model.card.search and model.card.search.best_start
        if any(s.index == best and s.stopping_reason is StoppingReason.MAX_ITERATIONS for s in starts):
            warnings.warn(
                f"The best start did not converge within max_iterations={self.max_iterations}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def validate(
        self,
        X: Matrix,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        *,
        folds: int = 5,
        repeats: int = 1,
        permutations: int = 0,
        bootstraps: int = 0,
        ceiling: bool = False,
    ) -> Self:
        """Cross-validate the fit: the whole fit is repeated on the training rows of each fold.

        The model itself does not change. The evidence is added to its card, `verdict_` sums it up, and the picture
        shows the held-out rows.

        Parameters
        ----------
        X, y, sample_weight
            The rows to which the model was fitted.
        folds : int, default=5
            Number of folds; fewer where a class has fewer rows.
        repeats : int, default=1
            Number of times the cross-validation is repeated, with other folds.
        permutations : int, default=0
            Number of repetitions of fit and cross-validation on permuted labels, to see what is found by chance.
        bootstraps : int, default=0
            Number of fits to bootstrap samples, which show how stable the directions are.
        ceiling : bool, default=False
            Also score gradient boosting on all features, on the same folds: what the columns hold without a picture.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from melm import MELM
        >>> X, y = load_wine(return_X_y=True)
        >>> estimator = MELM(regularization=None, n_starts=4, random_state=0).fit(X, y).validate(X, y)
        >>> estimator.verdict_.level.value
        'clear'
        """
        model = self._fitted
        search = model.card.search
        if search is None or model.card.parameters is None:
            raise ValueError("The model does not record how it was fitted. Fit again, then validate.")
        validation = Validation(
            folds=check_whole("folds", folds, 2),
            repeats=check_whole("repeats", repeats, 1),
            permutations=check_whole("permutations", permutations, 0),
            bootstraps=check_whole("bootstraps", bootstraps, 0),
            ceiling=bool(ceiling),
        )
        data, _ = clone(self).set_params(random_state=search.seed)._training(X, y, sample_weight)
        facts, n_rows, n_features = model.card.data, data.n_rows, data.X.shape[1]
        is_same = (n_rows, n_features, data.classes.tolist()) == (facts.n_rows, facts.n_features, facts.classes)
        if not is_same or data.names() != model.feature_names or data.encoder() != model.encoder:
            raise ValueError(
                f"These are not the rows to which the model was fitted: {n_rows} rows, {n_features} features and "
                f"{len(data.classes)} classes instead of {facts.n_rows}, {facts.n_features} and {len(facts.classes)}, "
                "or other columns."
            )
        fitting: Fitting = clone(self).set_params(random_state=search.seed).fitting(data.X.shape[1])

        def plan(resamples: Resamples, name: str) -> Plan[Model]:
            found: tuple[Model, object] = yield from fitting.plan(data, resamples, name)
            return found[0]

        def task(units: Sequence[Unit]) -> Task:
            if "ceiling" in units[0].arguments:
                return partial(_run_ceilings, data, units)
            return fitting.task(data, units, never)

        as_stored = model_file.load(model_file.dump(model))  # as a service does, so that both give equal bits
        rows = data.fingerprint if isinstance(data, LabeledBlocks) else None
        begun = self._begun(("validate", repr(fitting), repr(validation), rows))
        judged = self._run(plan_evidence(plan, data, validation, search.seed, as_stored), task, X, begun)
        card = judged.card.model_copy(update={"warnings": list(dict.fromkeys(judged.card.warnings))})
        verdict = judge_card(card)
        self.model_ = replace(model, card=card.model_copy(update={"verdict": verdict}), held_out=judged.held_out)
        return self

    def _begun(self, work: object) -> tuple[object, UnitResults]:
        """The results of this work so far: none, unless it was interrupted and `warm_start` resumes it."""
        cut_off: tuple[object, UnitResults] = self.__dict__.pop("_cut_off", (None, UnitResults()))
        return cut_off if self.warm_start and cut_off[0] == work else (work, UnitResults())

    def _run(self, plan: Plan[T], task: Tasks, X: Matrix, begun: tuple[object, UnitResults]) -> T:
        n_jobs = None if is_dask(X) else self.n_jobs  # Dask distributes the work already
        try:
            with (
                threadpool_limits(1),
                progress_bar(self.callback) if self.verbose else nullcontext(self.callback) as told,
            ):
                return run_locally(plan, task, n_jobs, told, begun[1])
        except RowsLost as lost:
            self._cut_off = begun
            raise RowsLost(f"{lost} With warm_start=True, the same call goes on from there.") from lost

    def plot(self, X: Matrix | None = None, y: npt.ArrayLike | None = None, **options: Any) -> Any:
        """Draw the classes, the decision boundary and the features that make up the axes; see `melm.plot`."""
        return plot(self, X, y, **options)

    def _training(
        self, X: Matrix, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None
    ) -> tuple[Labeled, dict[str, Proposal] | None]:
        """The validated training rows; of a table also the role of each column."""
        if is_beyond_memory(X):
            return self._open(X, y, sample_weight), None
        if is_table(X, self.columns):
            labels = validate_data(self, y=y)
            validate_data(self, X, skip_check_array=True)  # records the column names
            return read_training(X, labels, sample_weight, self.columns)
        given, labels = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2
        )
        rows, labels, weights = counted(canonical(given), labels, sample_weight)
        codes, classes = check_labels(labels, weights)
        names = getattr(self, "feature_names_in_", None)
        return Labeled(rows, codes, classes, None if names is None else names.tolist(), weights=weights), None

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
        """Read an estimator from a file written by `save` or by a service. Its predictions are equal, bit for bit."""
        return cls.from_model(model_file.load(pathlib.Path(path).read_bytes()))

    @classmethod
    def from_model(cls, model: Model) -> Self:
        """A fitted estimator around a model."""
        search = model.card.search
        if search is None:
            raise ModelFileError(f"The model was fitted by the method {model.method!r}, not by melm.")
        given: dict[str, Any] = {"gamma": model.card.gamma, **(model.card.parameters or {})}
        known = {name: given[name] for name in DESCRIBED if name in given}
        estimator = cls(random_state=given.get("seed"), **(known | {"n_components": model.projection.shape[1]}))
        estimator.n_features_in_ = len(model.columns)
        if model.feature_names is not None:
            estimator.feature_names_in_ = np.array(model.columns, dtype=object)
        estimator.columns_ = None
        estimator._finds_columns = model.feature_names is not None
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
    def verdict_(self) -> Verdict:
        """How far the separation holds on new rows, by the evidence that `validate` has gathered."""
        card = self._fitted.card
        return card.verdict or judge_card(card)

    @property
    def encoder_(self) -> Encoder | None:
        """Encodes rows of a table as numbers; None if all columns are numeric."""
        return self._fitted.encoder

    @property
    def features_(self) -> npt.NDArray[Any]:
        """The names of the rows of `projection_`."""
        return np.array(self._fitted.features, dtype=object)

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
        """Apply a function of the model to rows: lazily for Dask, block by block for files."""
        if is_beyond_memory(X):
            names = getattr(self, "feature_names_in_", None)
            check_features(X, self.n_features_in_, names)
            lazily: npt.NDArray[Any] = by_block(X, function, n_columns, names)
            return lazily
        return function(self._check_rows(X))

    def _check_rows(self, X: Matrix) -> Matrix:
        """The features of the model, as numbers."""
        model = self.model_
        if self._finds_columns and is_frame(X):
            fitted = None if self.columns_ is None else list(self.columns_)
            return read_rows(X, model.columns, model.encoder, fitted)
        if model.encoder is not None or self.columns_ is not None:
            names = shown(model.columns)
            raise ValueError(f"X is a {type(X).__name__}; the model takes a DataFrame with the columns {names}.")
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])

    def fitting(self, n_features: int) -> Fitting:
        """The validated parameters: the fit as a plan that other processes can run as well."""
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


def _plain(value: object) -> Any:
    """A parameter as a JSON value."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value


def _run_ceilings(data: Labeled, units: Sequence[Unit]) -> list[Result]:
    return [run_ceiling(data, unit) for unit in units]
