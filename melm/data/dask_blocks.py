"""Rows of Dask: each block stays on the worker that holds it, and only sums are transferred."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import dask
import numpy as np
import numpy.typing as npt
from dask import array, dataframe
from dask.delayed import Delayed, delayed

from melm.data.row_blocks import Addable, RowBlock, add_in_pairs
from melm.plan import RowsLost

A = TypeVar("A", bound=Addable)
LOST = ("CommClosedError", "KilledWorker")  # of distributed, which need not be installed

BUNDLES = 128  # with more blocks than this, a task processes several


@dataclass(frozen=True)
class DaskBlocks:
    """Blocks that are persisted on Dask's workers. If a worker dies, Dask computes its blocks again."""

    bundles: Sequence[Delayed]  # each of consecutive blocks: a power of two, except for the last
    n_features: int

    def total(self, function: Callable[..., A], *arguments: object) -> A:
        """The sum over blocks of function(block, *arguments): in the same tree as in memory, so with equal bytes."""
        shared = delayed(arguments, pure=False, traverse=False) if arguments else ()
        parts = [delayed(_sum_of_bundle, pure=False)(function, bundle, shared) for bundle in self.bundles]
        while len(parts) > 1:
            parts = [
                delayed(_add, pure=False)(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i]
                for i in range(0, len(parts), 2)
            ]
        with _answering():
            (total,) = dask.compute(parts[0])
        found: A = total
        return found


@dataclass(frozen=True)
class DaskRows:
    """Labeled rows of Dask, with the names of their columns."""

    blocks: DaskBlocks
    classes: npt.NDArray[Any]  # (C,), labels in order
    feature_names: list[str] | None


@contextmanager
def _answering() -> Iterator[None]:
    """Raise RowsLost if Dask no longer responds."""
    try:
        yield
    except (CancelledError, TimeoutError) as error:
        raise RowsLost(f"Dask has lost the rows: {_sentence(error)}") from error
    except Exception as error:
        if type(error).__name__ not in LOST:
            raise
        raise RowsLost(f"Dask has lost the rows: {_sentence(error)}") from error


def _sentence(error: Exception) -> str:
    """The first line of the message of an error, as a sentence."""
    return f"{(str(error) or type(error).__name__).splitlines()[0].rstrip('.')}."


def read(X: Any, y: Any) -> DaskRows:
    """The rows of an array or a DataFrame. y is an array or a series of the same length, or the name of a column."""
    names = None
    if isinstance(X, dataframe.DataFrame):
        if isinstance(y, str):
            if y not in X.columns:
                raise ValueError(f"There is no column {y!r} among {', '.join(map(repr, X.columns))}.")
            X, y = X.drop(columns=y), X[y]
        names = [str(name) for name in X.columns]
        other = [name for name, kind in zip(names, X.dtypes, strict=True) if not _is_number(kind)]
        if other:
            raise ValueError(f"Features of rows beyond memory must be numeric; column {other[0]!r} is not.")
    elif X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions, expected 2: rows and features.")
    elif np.isnan(X.shape[1]):
        raise ValueError("The number of features of X is unknown; call X.compute_chunk_sizes() first.")
    elif not _is_number(X.dtype):
        raise ValueError(f"X is of type {X.dtype}; features of rows beyond memory must be numeric.")
    n_features = int(X.shape[1])
    if n_features == 0:
        raise ValueError("X has no features.")
    rows, labels = _parts(X), _parts(y)
    if len(rows) != len(labels):
        raise ValueError(f"X has {len(rows)} blocks and y {len(labels)}: rows and labels must have equal blocks.")
    checked = [
        delayed(_check, pure=False)(*both, names or n_features, number)
        for number, both in enumerate(zip(rows, labels, strict=True))
    ]
    try:
        with _answering():
            checked = list(dask.persist(*checked))
            facts = dask.compute(*[delayed(_facts, pure=False)(part) for part in checked])
    except KeyError as error:  # of pandas, from a block without a column that the others have
        raise ValueError(f"A block has other columns than the data frame says: {error.args[0]}") from None
    sizes, known = [size for size, _ in facts], [labels for size, labels in facts if size]
    if not known:
        raise ValueError("X holds no rows.")
    kinds = {own.dtype.kind for own in known}
    if len(kinds) > 1 and not kinds <= set("biuf"):
        raise ValueError("Some blocks of y hold numbers and others text: labels are of one kind.")
    classes = np.unique(np.concatenate(known))
    if len(classes) < 2:
        raise ValueError(f"At least two classes are needed, got 1 class: {classes.tolist()[0]!r}.")
    firsts = np.cumsum([0, *sizes[:-1]]).tolist()
    blocks = [
        delayed(_block, pure=False)(part, classes, first)
        for part, first, size in zip(checked, firsts, sizes, strict=True)
        if size
    ]
    together = 2 ** max(0, int(np.log2(max(1, len(blocks) / BUNDLES))))
    bundles = [delayed(list, pure=False)(blocks[i : i + together]) for i in range(0, len(blocks), together)]
    return DaskRows(DaskBlocks(list(dask.persist(*bundles)), n_features), classes, names)


def _parts(collection: Any) -> list[Delayed]:
    """The blocks of rows of an array, a DataFrame or a series."""
    if isinstance(collection, array.Array):
        if collection.ndim == 2:
            collection = collection.rechunk({1: -1})
        parts: list[Delayed] = collection.to_delayed().ravel().tolist()
        return parts
    if isinstance(collection, dataframe.DataFrame | dataframe.Series):
        return list(collection.to_delayed())
    raise ValueError(f"y is a {type(collection).__name__}: with rows of Dask it is an array or a series of Dask.")


def _check(X: Any, y: Any, expected: list[str] | int, number: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Check one block of rows and labels; `expected` are the names of the columns, or their number."""
    if isinstance(expected, list):
        names = [str(name) for name in X.columns]
        if sorted(names) != sorted(expected):
            raise ValueError(f"Block {number} has the columns {names}, expected {expected}.")
        X = X[expected]
    rows, labels = np.asarray(X), np.asarray(y)
    n_features = len(expected) if isinstance(expected, list) else expected
    if rows.ndim != 2 or rows.shape[1] != n_features:
        raise ValueError(f"Block {number} has the shape {rows.shape}, expected {n_features} columns.")
    if len(rows) != len(labels):
        raise ValueError(f"Block {number} has {len(rows)} rows and {len(labels)} labels.")
    if rows.dtype not in (np.float32, np.float64):
        try:
            rows = rows.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"Block {number} holds {rows.dtype} where numbers are expected.") from None
    if not np.isfinite(rows).all():
        row, feature = np.argwhere(~np.isfinite(rows))[0].tolist()
        name = f"column {expected[feature]!r}" if isinstance(expected, list) else f"feature {feature}"
        raise ValueError(f"Row {row} of block {number} holds {rows[row, feature]} in {name}.")
    if labels.dtype.kind == "O":  # text in pandas
        missing = [label is None or label != label or not isinstance(label, str | int) for label in labels.tolist()]
        labels = labels if any(missing) else np.array(labels.tolist(), dtype=labels.dtype if not len(labels) else None)
    else:
        missing = (labels != labels).tolist()
    if any(missing):
        raise ValueError(f"Row {missing.index(True)} of block {number} has no label.")
    return np.ascontiguousarray(rows), labels


def _facts(part: tuple[npt.NDArray[Any], npt.NDArray[Any]]) -> tuple[int, npt.NDArray[Any]]:
    return len(part[1]), np.unique(part[1])


def _block(part: tuple[npt.NDArray[Any], npt.NDArray[Any]], classes: npt.NDArray[Any], first: int) -> RowBlock:
    return RowBlock.consecutive(part[0], np.searchsorted(classes, part[1]).astype(np.int32), first)


def _sum_of_bundle(function: Callable[..., A], bundle: Sequence[RowBlock], arguments: tuple[object, ...]) -> A:
    return add_in_pairs(function(block, *arguments) for block in bundle)


def _add(one: A, other: A) -> A:
    return one + other


def _is_number(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "fiub"
