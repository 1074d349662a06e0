"""Tables in files: CSV, npz and Parquet, told apart by their first bytes. All that the command reads comes this way."""

from __future__ import annotations

import csv
import io
import re
import sys
from pathlib import Path

from service.codecs import CODECS, Codec, Limits
from service.codecs.table import Array
from service.commands.failure import CommandError
from service.errors import FieldError, Invalid, Malformed
from service.inspection import check_input, check_labeled_input, check_training_data

UNLIMITED = Limits(sys.maxsize, sys.maxsize, sys.maxsize)
MEDIA_TYPES = {b"PK\x03\x04": "application/x-npz", b"PAR1": "application/vnd.apache.parquet"}
CELL = re.compile(r"(?:/X)?/(?P<row>\d+)(?:/(?P<column>\d+))?")


class TableFile:
    """A table that was read from a file, and what is wrong with it in words that name file, row and column."""

    def __init__(self, path: str, target: str | None, *, labeled: bool = False) -> None:
        self.name = "standard input" if path == "-" else path
        self._content = sys.stdin.buffer.read() if path == "-" else read_bytes(path)
        self._codec = codec_of(self._content, self.name)
        if labeled and target is None and self._codec.media_type != "application/x-npz":
            raise CommandError(f"{self.name}: which column holds the labels? Name it by --target")
        try:
            self.table = self._codec.decode(self._content, UNLIMITED, target)
        except Malformed as error:
            raise CommandError(f"{self.name}: {error}") from None
        except Invalid as error:
            raise self._explain(error, target) from None

    def training_rows(self) -> tuple[Array, Array]:
        """X and y from which something can be learned."""
        try:
            return check_training_data(self.table)
        except Invalid as error:
            raise self._explain(error) from None

    def rows(self, n_features: int, feature_names: list[str] | None) -> Array:
        """X for a model."""
        try:
            return check_input(self.table, n_features, feature_names)
        except Invalid as error:
            raise self._explain(error) from None

    def labeled_rows(self, n_features: int, feature_names: list[str] | None, classes: Array) -> tuple[Array, Array]:
        """X and y on which a model can be scored."""
        try:
            return check_labeled_input(self.table, n_features, feature_names, classes)
        except Invalid as error:
            raise self._explain(error) from None

    def _explain(self, error: Invalid, target: str | None = None) -> CommandError:
        first, *others = error.errors
        more = " (and more)" if others else ""
        return CommandError(f"{self.name}: {self._describe(first, target)}{more}")

    def _describe(self, error: FieldError, target: str | None) -> str:
        """What is wrong, at a row counted from 1 and a column by its name."""
        cell = CELL.fullmatch(error.pointer)
        if cell is None:
            return f"{error.detail}; {error.fix}" if error.fix else error.detail
        row = int(cell["row"])
        place = f"row {row + 1}"
        detail = error.detail.removeprefix(f"row {row} ").removeprefix(f"row {row}, column {cell['column']}: ")
        if self._codec.media_type == "text/csv":
            place += f" (line {line_of(self._content, row)})"
        if cell["column"] is not None:
            place += f", column {self._column(int(cell['column']), target)}"
        return f"{place}: {detail}"

    def _column(self, index: int, target: str | None) -> str:
        if self._codec.media_type == "text/csv":
            header = next(csv.reader(io.StringIO(self._content.decode("utf-8-sig"), newline="")))
            return repr([name for name in header if name != target][index])
        return str(index + 1)


def read_bytes(path: str) -> bytes:
    """A file's content."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {(error.strerror or str(error)).lower()}") from None


def codec_of(content: bytes, name: str) -> Codec:
    """What reads a file that begins like this; CSV where nothing says otherwise."""
    media_type = MEDIA_TYPES.get(content[:4], "text/csv")
    if media_type not in CODECS:
        raise CommandError(f"{name}: Parquet is read where pyarrow is installed: pip install 'melm[arrow]'")
    return CODECS[media_type]


def line_of(content: bytes, row: int) -> int:
    """The line on which a row of a CSV file ends; rows may hold line breaks, and empty lines are no rows."""
    reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    next(reader)
    filled = (reader.line_num for cells in reader if cells)
    return next(line for index, line in enumerate(filled) if index == row)
