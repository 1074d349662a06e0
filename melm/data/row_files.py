"""Rows of files that are larger than memory: read once, and copied as plain numbers to a temporary folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset

from melm.data.row_blocks import FileBlocks, Watch, block_sizes, unwatched

BATCH_ROWS = 2**16  # read at a time
READ_AHEAD = 2  # batches; Arrow's own 16 batches of 4 files would be gigabytes
FORMATS = {".parquet": "parquet", ".csv": "csv", ".arrow": "ipc", ".feather": "ipc"}


@dataclass(frozen=True)
class FileRows:
    """Labeled rows of files, with the names of their columns."""

    blocks: FileBlocks
    classes: npt.NDArray[Any]  # (C,), labels in order
    feature_names: list[str]


def open_dataset(
    path: str | PathLike[str], target: str | None = None, delimiter: str = ",", decimal: str = "."
) -> pa.dataset.Dataset:
    """Open a file, or a folder of files of one format, as an Arrow dataset. Delimiter and decimal mark are for CSV."""
    path = Path(path)
    if not path.exists():
        raise ValueError(f"{path} does not exist.")
    files = sorted(file for file in path.rglob("*") if file.suffix in FORMATS) if path.is_dir() else [path]
    kinds = {FORMATS.get(file.suffix) for file in files}
    if len(kinds) != 1 or None in kinds:
        raise ValueError(f"{path} cannot be read: expected a file, or files of one format, among {', '.join(FORMATS)}.")
    try:
        names, kind = [str(file) for file in files], kinds.pop()
        if kind != "csv":
            return pa.dataset.dataset(names, format=kind)
        first = pa.dataset.dataset(names[0], format=_csv(delimiter, decimal, {})).schema
        # Numbers that look whole at the beginning may have decimals later.
        numbers = {c.name: pa.float64() for c in first if pa.types.is_integer(c.type) and c.name != target}
        return pa.dataset.dataset(names, format=_csv(delimiter, decimal, numbers))
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def _csv(delimiter: str, decimal: str, kinds: dict[str, pa.DataType]) -> pa.dataset.CsvFileFormat:
    convert = pa.csv.ConvertOptions(decimal_point=decimal, column_types=kinds)
    return pa.dataset.CsvFileFormat(pa.csv.ParseOptions(delimiter=delimiter), convert_options=convert)


def read(dataset: pa.dataset.Dataset, target: str, left_out: Sequence[str] = (), watch: Watch = unwatched) -> FileRows:
    """Read the rows of a dataset once. Features are all columns except the target and those in `left_out`."""
    names = _features(dataset.schema, target, left_out)
    folder = Path(mkdtemp(prefix="melm-rows-"))
    try:
        blocks, classes = _copy(dataset, names, target, folder, watch)
    except BaseException:
        rmtree(folder, ignore_errors=True)
        raise
    finalize(blocks, rmtree, folder, ignore_errors=True)  # the copy is removed with the last reference to its blocks
    return FileRows(blocks, classes, names)


def _copy(
    dataset: pa.dataset.Dataset, names: list[str], target: str, folder: Path, watch: Watch
) -> tuple[FileBlocks, npt.NDArray[Any]]:
    """Copy features and labels to two files of numbers. Returns also the distinct labels."""
    dtype = _common_type([dataset.schema.field(name).type for name in names])
    rows, labels = folder / "rows", folder / "labels"
    places: dict[Any, int] = {}  # of each label, in order of appearance
    n_rows = 0
    with rows.open("wb") as to_rows, labels.open("wb") as to_labels:
        for batch in _batches(dataset, [*names, target]):
            X = np.empty((batch.num_rows, len(names)), dtype)
            for j, name in enumerate(names):
                X[:, j] = _numbers(batch.column(j), name, n_rows)
            X.tofile(to_rows)
            _places(batch.column(len(names)), target, n_rows, places).tofile(to_labels)
            n_rows += batch.num_rows
            watch(batch.num_rows)
    watch(None)
    if n_rows == 0:
        raise ValueError("The files hold no rows.")
    classes, recode = np.unique(np.array(list(places)), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"At least two classes are needed, got 1 class: {classes.tolist()[0]!r}.")
    sizes = block_sizes(n_rows, len(names))
    return FileBlocks(rows, labels, np.dtype(dtype), len(names), recode.astype(np.int32), sizes), classes


def read_features(dataset: pa.dataset.Dataset, features: Sequence[str]) -> Iterator[npt.NDArray[Any]]:
    """The features of a dataset, in batches of rows."""
    first = 0
    _check_columns(dataset.schema, features)
    for batch in _batches(dataset, list(features)):
        columns = [_numbers(column, name, first) for column, name in zip(batch.columns, features, strict=True)]
        yield np.column_stack(columns)
        first += batch.num_rows


def _features(schema: pa.Schema, target: str, left_out: Sequence[str]) -> list[str]:
    for name in (target, *left_out):
        if name not in schema.names:
            raise ValueError(f"There is no column {name!r} among {', '.join(map(repr, schema.names))}.")
    twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"Several columns are called {twice!r}.")
    names = [name for name in schema.names if name != target and name not in left_out]
    if not names:
        raise ValueError(f"There is no column beside {target!r}: no feature is left.")
    _check_columns(schema, names)
    return names


def _check_columns(schema: pa.Schema, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in schema.names]
    if missing:
        raise ValueError(f"There is no column {missing[0]!r} among {', '.join(map(repr, schema.names))}.")
    other = [name for name in names if not _is_number(schema.field(name).type)]
    if other:
        kinds = ", ".join(f"{name!r} ({schema.field(name).type})" for name in other[:5])
        raise ValueError(f"Features of rows beyond memory must be numeric; these columns are not: {kinds}.")


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def _common_type(kinds: Sequence[pa.DataType]) -> type[np.float32] | type[np.float64]:
    """float32 if no column needs more, else float64."""
    small = (pa.float32(), pa.float16(), pa.int8(), pa.int16(), pa.uint8(), pa.uint16(), pa.bool_())
    return np.float32 if all(kind in small for kind in kinds) else np.float64


def _batches(dataset: pa.dataset.Dataset, columns: list[str]) -> Iterator[pa.RecordBatch]:
    options = {"batch_size": BATCH_ROWS, "batch_readahead": READ_AHEAD, "fragment_readahead": 1}
    if isinstance(getattr(dataset, "format", None), pa.dataset.ParquetFileFormat):
        # Row groups are decoded as a stream, and never held in memory as a whole.
        buffered = pa.dataset.ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
        options["fragment_scan_options"] = buffered
    try:
        yield from dataset.to_batches(columns=columns, **options)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"The files do not agree with each other, or are damaged: {error}") from None


def _numbers(column: pa.Array, name: str, first: int) -> npt.NDArray[Any]:
    if column.null_count:
        row = first + pc.index(column.is_null(), True).as_py()
        raise ValueError(f"Row {row} has no value in column {name!r}: rows beyond memory take no missing values.")
    numbers: npt.NDArray[Any] = pc.cast(column, pa.float64()).to_numpy()
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise ValueError(f"Row {first + row} holds {numbers[row]} in column {name!r}.")
    return numbers


def _places(column: pa.Array, target: str, first: int, places: dict[Any, int]) -> npt.NDArray[np.int32]:
    if column.null_count:
        row = first + pc.index(column.is_null(), True).as_py()
        raise ValueError(f"Row {row} has no label in column {target!r}.")
    # A dictionary may have labels that no row has.
    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    encoded = plain.dictionary_encode()
    labels = encoded.dictionary.to_pylist()
    if any(label != label for label in labels):
        raise ValueError(f"A row near row {first} has no label in column {target!r}.")
    own = [places.setdefault(label, len(places)) for label in labels]
    return np.asarray(np.array(own, dtype=np.int32)[encoded.indices.to_numpy()])
