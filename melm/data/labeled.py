"""Labeled data. Data and options are validated here, once, with errors that name what is wrong."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeGuard

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from melm.data.covariance import CovarianceKind
from melm.data.prepared_rows import PreparedRows
from melm.data.spread import Spread
from melm.data.taken import canonical
from melm.plan import Fold, NothingFitted, Resamples, Selection, hold_out, select
from melm.tables.encoding import Encoder, needs_encoder
from melm.tables.table import Table
from melm.typing import Array, Matrix

KEPT_BYTES = 2**28  # of prepared rows


@dataclass(frozen=True)
class Tables:
    """Confusion matrices: rows by true class and predicted class."""

    counts: npt.NDArray[np.intp]  # (C, C)
    weighed: Array  # (C, C), the same by weight

    @classmethod
    def of(
        cls, codes: npt.NDArray[Any], predicted: npt.NDArray[np.intp], n_classes: int, weights: Array | None = None
    ) -> Self:
        """The confusion matrices of rows with these codes."""
        counts, weighed = np.zeros((n_classes, n_classes), dtype=np.intp), np.zeros((n_classes, n_classes))
        np.add.at(counts, (codes, predicted), 1)
        np.add.at(weighed, (codes, predicted), 1 if weights is None else weights)
        return cls(counts, weighed)

    def __add__(self, other: Self) -> Self:
        return type(self)(self.counts + other.counts, self.weighed + other.weighed)

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall over the classes that have rows, by weight."""
        totals = self.weighed.sum(axis=1)
        there = totals > 0
        return float(np.mean(np.diag(self.weighed)[there] / totals[there]))


@dataclass
class Labeled:
    """Labeled rows, with a cache of what was prepared from them and from resamples of them.

    Rows of a table with missing values or categories are encoded with parameters learned from training rows: X is the
    encoding learned from all rows, and each fold has its own.
    """

    X: Matrix  # (n, d), float64 or float32; sparse as CSR
    codes: npt.NDArray[np.intp]  # (n,), 0..C-1
    classes: npt.NDArray[Any]  # (C,), labels in order
    feature_names: list[str] | None = None
    groups: npt.NDArray[Any] | None = None  # (n,): rows of one group are never divided between folds
    table: Table | None = None  # if X is an encoding of it
    id_name: str | None = None  # of the column of row ids, which is not a feature
    weights: Array | None = None  # (n,), how often each row counts, above zero; None where each counts once
    permute_labels: int | None = None  # the seed by which the codes were permuted
    _prepared: OrderedDict[tuple[Resamples, CovarianceKind, float, int | None], PreparedRows] = field(
        default_factory=OrderedDict
    )
    _encoders: dict[Resamples, Encoder] = field(default_factory=dict)
    _permuted: Labeled | None = None

    @classmethod
    def check(
        cls,
        X: Matrix,
        y: npt.ArrayLike,
        feature_names: list[str] | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Labeled:
        """Validate the input of a user as labeled rows. Rows of weight zero are dropped."""
        checked = canonical(
            check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2, input_name="X")
        )
        check_consistent_length(checked, y)
        checked, y, weights = counted(checked, y, sample_weight)
        codes, classes = check_labels(y, weights)
        return cls(checked, codes, classes, feature_names, weights=weights)

    @classmethod
    def of_table(
        cls,
        table: Table,
        y: npt.ArrayLike,
        groups: npt.NDArray[Any] | None = None,
        id_name: str | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> Labeled:
        """Labeled rows from the feature columns of a table, encoded if it has missing values or categories."""
        rows, y, checked = counted(np.arange(len(table)), y, weights)
        if len(rows) < len(table):
            table, groups = table.take(rows), None if groups is None else groups[rows]
        encoder = Encoder.fit(table) if needs_encoder(table) else None
        X = table.numbers if encoder is None else encoder.encode(table)
        data = cls.check(X, y, list(table.names) if encoder is None else encoder.features)
        data.groups, data.id_name, data.weights = groups, id_name, checked
        if encoder is not None:
            data.table = table
            data._encoders[()] = encoder
        return data

    def permuted(self, seed: int) -> Labeled:
        """The same rows with permuted labels. The last permutation is cached, with what was prepared from it."""
        if self._permuted is None or self._permuted.permute_labels != seed:
            codes = np.random.default_rng(seed).permutation(self.codes)
            encoders: dict[Resamples, Encoder] = {}
            if self.table is not None:
                encoders[()] = self._encoders[()]  # that of all rows; those of folds depend on the labels
            self._permuted = replace(
                self, codes=codes, permute_labels=seed, _prepared=OrderedDict(), _encoders=encoders, _permuted=None
            )
        return self._permuted

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def for_choices(self) -> Resamples:
        """The resamples that precede the inner folds of choices: none if all rows are in memory."""
        return ()

    def select(self, resamples: Resamples) -> Selection:
        """The training rows of the resamples."""
        return select(resamples, self.codes, self.groups)

    def hold_out(self, resamples: Resamples) -> Selection:
        """The held-out rows of the last resample, a fold."""
        return hold_out(resamples, self.codes, self.groups)

    def row_numbers(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """The numbers of these rows in the input of the user."""
        return rows

    def tabulate(self, resamples: Resamples, predict: Callable[[Matrix], npt.NDArray[np.intp]]) -> Tables:
        """The confusion matrices of the held-out rows of the last resample."""
        X, codes = self.held_out(resamples)
        return Tables.of(codes, predict(X), len(self.classes), self.held_out_weights(resamples))

    def encoder(self, resamples: Resamples = ()) -> Encoder | None:
        """The encoder of the rows for a fit on resamples; None if rows are not encoded.

        It is learned from the training rows of the innermost fold. Bootstrap samples and permuted labels have no
        held-out rows, and need no encoder of their own.
        """
        if self.table is None:
            return None
        folds = [index for index, resample in enumerate(resamples) if isinstance(resample, Fold)]
        seen = resamples[: folds[-1] + 1] if folds else ()
        if seen not in self._encoders:
            self._encoders[seen] = Encoder.fit(self.table.take(self.select(seen).rows))
        return self._encoders[seen]

    def names(self, resamples: Resamples = ()) -> list[str] | None:
        """The names of the features of a fit on resamples."""
        encoder = self.encoder(resamples)
        return self.feature_names if encoder is None else encoder.features

    def training(
        self, resamples: Resamples, encoded_for: Resamples | None = None
    ) -> tuple[Matrix, npt.NDArray[np.intp]]:
        """Training rows of the resamples and their codes, encoded for a fit on them unless `encoded_for` is given."""
        if not resamples:
            return self.X, self.codes
        chosen = self._chosen(resamples)
        return self._rows(chosen.rows, resamples if encoded_for is None else encoded_for), chosen.codes

    def held_out(self, resamples: Resamples) -> tuple[Matrix, npt.NDArray[np.intp]]:
        """Held-out rows of the last resample, a fold, and their codes, encoded for the fit on the training rows."""
        chosen = self.hold_out(resamples)
        return self._rows(chosen.rows, resamples), chosen.codes

    def held_out_weights(self, resamples: Resamples) -> Array | None:
        """The weights of the held-out rows of the last resample; None if each row counts once."""
        return None if self.weights is None else self.weights[self.hold_out(resamples).rows]

    def _chosen(self, resamples: Resamples) -> Selection:
        chosen = self.select(resamples)
        if len(np.unique(chosen.codes)) < len(self.classes):
            raise NothingFitted("A fold leaves no row of some class for training.")
        return chosen

    def _rows(self, rows: npt.NDArray[np.intp], resamples: Resamples) -> Matrix:
        encoder = self.encoder(resamples)
        if self.table is None or encoder is None or encoder is self.encoder():
            return self.X[rows]
        return encoder.encode(self.table.take(rows))

    def _prepare(
        self, covariance: CovarianceKind, resamples: Resamples, ridge: float, n_kept: int | None
    ) -> PreparedRows:
        """The prepared training rows of the resamples. Rows that need no encoding of their own are not copied."""
        if n_kept is not None:
            return self._screen(covariance, resamples, ridge, n_kept)
        if resamples and self.encoder(resamples) is self.encoder():
            chosen = self._chosen(resamples)
            return PreparedRows.prepare(
                self.X, chosen.codes, len(self.classes), covariance, ridge, chosen.rows, self.weights
            )
        X, codes = self.training(resamples)
        weights = self.weights if self.weights is None or not resamples else self.weights[self._chosen(resamples).rows]
        return PreparedRows.prepare(X, codes, len(self.classes), covariance, ridge, weights=weights)

    def _screen(self, covariance: CovarianceKind, resamples: Resamples, ridge: float, n_kept: int) -> PreparedRows:
        """The prepared rows with only the features that separate the classes best on their own, in these rows."""
        everything = self.prepare(covariance, resamples, ridge)
        kept = np.zeros(len(everything.rows.scale), dtype=bool)
        kept[np.argsort(-everything.separations(), kind="stable")[:n_kept]] = True
        X, codes = self.training(resamples)
        weights = self.weights if self.weights is None or not resamples else self.weights[self._chosen(resamples).rows]
        screened = PreparedRows.prepare(X, codes, len(self.classes), covariance, ridge, weights=weights, kept=kept)
        return replace(screened, spread=everything.spread)

    def prepare(
        self, covariance: CovarianceKind, resamples: Resamples = (), ridge: float = 0.0, n_kept: int | None = None
    ) -> PreparedRows:
        """The prepared training rows of the resamples, prepared once and cached while memory allows.

        If `n_kept` is given, only so many features are used: those that separate the classes best on their own.
        """
        key = (resamples, covariance, ridge, n_kept)
        if key not in self._prepared:
            while sum(prepared.nbytes for prepared in self._prepared.values()) > KEPT_BYTES:
                self._prepared.popitem(last=False)
            self._prepared[key] = self._prepare(covariance, resamples, ridge, n_kept)
        self._prepared.move_to_end(key)
        return self._prepared[key]

    @property
    def spread(self) -> Spread:
        """Covariance of the features over all rows, shared by everything that is prepared from all rows."""
        return self._whole.spread

    @property
    def separations(self) -> Array:
        """For each feature, the share of its variance over all rows that lies between the class means (d,)."""
        return self._whole.separations()

    @property
    def _whole(self) -> PreparedRows:
        """All rows and features prepared, from the cache if possible."""
        kinds = [(kind, ridge) for resamples, kind, ridge, n_kept in self._prepared if not resamples and n_kept is None]
        kind, ridge = kinds[0] if kinds else ("empirical", 0.0)
        return self.prepare(kind, (), ridge)


def check_labels(y: npt.ArrayLike, weights: Array | None = None) -> tuple[npt.NDArray[np.intp], npt.NDArray[Any]]:
    """Codes 0..C-1 of the labels, and the distinct labels in order. A row of weight two counts as two rows."""
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"At least two classes are needed, got 1 class: {classes[0]!r}.")
    sizes = counts if weights is None else np.maximum(counts, np.bincount(codes, weights))
    if sizes.min() < 2:
        label = classes[sizes.argmin()]
        raise ValueError(f"Every class needs at least 2 rows, class {label!r} has {counts[sizes.argmin()]}.")
    return codes, classes


def check_weights(sample_weight: npt.ArrayLike | None, n_rows: int) -> Array | None:
    """Validate the weights of the rows (n,); None if each counts once."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected one weight for each row, ({n_rows},).")
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"sample_weight[{row}] is {weights[row]}: a weight is a finite number, 0 or more.")
    if not weights.any():
        raise ValueError("All weights are zero: there is no row to fit.")
    return None if (weights == 1).all() else weights


def counted(
    X: npt.NDArray[Any], y: npt.ArrayLike, sample_weight: npt.ArrayLike | None
) -> tuple[npt.NDArray[Any], npt.ArrayLike, Array | None]:
    """The rows with a weight above zero, their labels and their weights."""
    weights = check_weights(sample_weight, X.shape[0])
    if weights is None or weights.all():
        return X, y, weights
    counting = weights > 0
    left = weights[counting]
    return X[counting], column_or_1d(y, warn=True)[counting], None if (left == 1).all() else left


def check_option(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise ValueError unless the value is one of the allowed words."""
    if value not in allowed:
        raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, allowed))}.")


def check_whole(name: str, value: object, least: int) -> int:
    """The value as a whole number; raises ValueError if it is none or too small."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= least:
        return int(value)
    raise ValueError(f"{name}={value!r} must be a whole number of at least {least}.")


def check_positive(name: str, value: object) -> float:
    """The value as a finite number above zero; raises ValueError if it is none."""
    if _is_number(value) and 0 < float(value) < np.inf:
        return float(value)
    raise ValueError(f"{name}={value!r} must be a finite number above 0.")


def check_not_negative(name: str, value: object) -> float:
    """The value as a finite number, zero or more; raises ValueError if it is none."""
    if _is_number(value) and 0 <= float(value) < np.inf:
        return float(value)
    raise ValueError(f"{name}={value!r} must be a finite number, 0 or more.")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def check_components(n_components: object, n_features: int) -> int:
    """The number of components; raises ValueError unless it is between 1 and the number of features."""
    k = check_whole("n_components", n_components, 1)
    if k > n_features:
        raise ValueError(f"n_components={k} is larger than the number of features, {n_features}.")
    return k
