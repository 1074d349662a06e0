"""Rows beyond memory, that is, larger than memory, and how they are opened: files, memory-mapped arrays, and Dask."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from melm.data.block_moments import SAMPLE_BYTES
from melm.data.labeled import check_labels
from melm.data.labeled_blocks import LabeledBlocks
from melm.data.row_blocks import ArrayBlocks, block_sizes
from melm.extras import check_extra


def is_beyond_memory(X: Any) -> bool:
    """Whether X is a path of files, a pyarrow dataset, a large memory-mapped array, or a Dask array or DataFrame."""
    mapped = isinstance(X, np.memmap) and X.nbytes > SAMPLE_BYTES
    return mapped or isinstance(X, str | PathLike) or is_of(X, "pyarrow.dataset", "Dataset") or is_dask(X)


def is_dask(X: Any) -> bool:
    """Whether X is an array or a DataFrame of Dask."""
    return is_of(X, "dask.array", "Array") or is_of(X, "dask.dataframe", "DataFrame")


def is_of(X: Any, module: str, name: str) -> bool:
    """Whether X is an instance of a class of an optional library, which is not imported for the check."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(X, getattr(loaded, name))


def check_features(X: Any, n_features: int, feature_names: Sequence[str] | None) -> None:
    """Raise ValueError unless X has the features of the model, by name in files and DataFrames."""
    if is_of(X, "dask.array", "Array") or isinstance(X, np.memmap):
        if X.ndim != 2 or X.shape[1] != n_features:
            raise ValueError(f"X has the shape {X.shape}, expected {n_features} features.")
    elif feature_names is None:
        raise ValueError("The model was fitted to rows whose features have no names: it cannot find them in X.")
    elif is_dask(X):
        missing = [name for name in feature_names if name not in X.columns]
        if missing:
            raise ValueError(f"There is no column {missing[0]!r} among {', '.join(map(repr, X.columns))}.")


def by_block(X: Any, function: Callable[[Any], npt.NDArray[Any]], n_columns: int | None, feature_names: Any) -> Any:
    """Apply a function to blocks of rows, lazily for Dask. It gives n_columns numbers a row, or one value if None.

    Columns of files and DataFrames are found by name.
    """
    if is_of(X, "dask.array", "Array"):
        whole = X.rechunk({1: -1})
        if n_columns is None:
            return whole.map_blocks(function, drop_axis=1, dtype=function(np.zeros((1, X.shape[1]))).dtype)
        return whole.map_blocks(function, chunks=(whole.chunks[0], (n_columns,)), dtype=np.float64)
    if is_dask(X):
        frame = X[list(feature_names)]
        return by_block(frame.to_dask_array(lengths=True), function, n_columns, None)
    if isinstance(X, np.memmap):
        parts = [function(X[begin : begin + size]) for begin, size in _spans(X)]
        return np.concatenate(parts)
    check_extra("tables", "rows in files")
    from melm.data import row_files

    dataset = row_files.open_dataset(X) if isinstance(X, str | PathLike) else X
    return np.concatenate([function(rows) for rows in row_files.read_features(dataset, list(feature_names))])


def _spans(X: npt.NDArray[Any]) -> Iterator[tuple[int, int]]:
    begin = 0
    for size in block_sizes(*X.shape):
        yield begin, size
        begin += size


def open_rows(X: Any, y: Any, seed: int) -> LabeledBlocks:
    """Open labeled rows beyond memory. `y` is the name of the column of labels if X has named columns."""
    if is_dask(X):
        from melm.data import dask_blocks

        of_dask = dask_blocks.read(X, y)
        return LabeledBlocks.of(of_dask.blocks, of_dask.classes, of_dask.feature_names, seed)
    if isinstance(X, np.memmap):
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions, expected 2: rows and features.")
        if np.shape(y) != (len(X),):
            raise ValueError(f"X has {len(X)} rows, and y the shape {np.shape(y)}: one label for each row is expected.")
        codes, classes = check_labels(y)
        blocks = ArrayBlocks(X, codes.astype(np.int32), block_sizes(*X.shape))
        return LabeledBlocks.of(blocks, classes, None, seed)
    check_extra("tables", "a fit of rows in files")
    from melm.data import row_files

    if not isinstance(y, str):
        raise ValueError(f"y is a {type(y).__name__}: with files it is the name of the column that holds the labels.")
    dataset = row_files.open_dataset(X, y) if isinstance(X, str | PathLike) else X
    of_files = row_files.read(dataset, y)
    return LabeledBlocks.of(of_files.blocks, of_files.classes, of_files.feature_names, seed)
