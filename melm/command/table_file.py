"""Tables in files, whose format is detected by their first bytes. All commands read tables by this module."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from melm.command.failure import CommandError
from melm.command.output import read_bytes
from melm.command.remedy import as_options
from melm.extras import check_extra
from melm.tables.files import HEAD_BYTES, format_of
from melm.tables.options import ReadOptions
from melm.typing import AnyArray

check_extra("tables", "a table in a file")  # before the imports below, whose errors would not mention the extra

# ruff: noqa: E402
from service.errors import FieldError, Invalid, Malformed
from service.intake.formats import CODECS, Codec, Limits
from service.intake.upload import Reception, Upload, read_upload

if TYPE_CHECKING:
    from melm.model import Model
    from melm.remote.datasets import TableOptions
    from service.intake.rows import ModelRows

UNLIMITED = Limits(sys.maxsize, sys.maxsize, sys.maxsize, are_for_own_files=True, sparse_columns=sys.maxsize)
ROW_OPTIONS = ("missing", "drop_missing", "unlabeled", "rare_classes", "day_first")


class TableFile:
    """A table in a file. Its errors name file, row and column."""

    def __init__(self, options: argparse.Namespace, *, labeled: bool = False) -> None:
        path: str = options.table
        self.name = "standard input" if path == "-" else path
        self.content = sys.stdin.buffer.read() if path == "-" else read_bytes(path)
        self._codec = codec_of(self.content)
        self.written = ReadOptions(
            delimiter=options.delimiter,
            decimal=options.decimal,
            encoding=options.encoding,
            sheet=options.sheet,
            missing_values=tuple(options.missing_values),
            columns=dict(getattr(options, "columns", ())),
            target=options.target,
            **{name: getattr(options, name) for name in ROW_OPTIONS if hasattr(options, name)},
        )
        named = options.target is not None or "target" in self.written.columns.values()
        if labeled and not named and self.media_type != "application/x-npz":
            raise CommandError(f"{self.name}: which column holds the labels? Name it by --target")

    @property
    def options(self) -> TableOptions:
        """The given options, in the form of the client."""
        from melm.remote.datasets import TableOptions

        given = {name: getattr(self.written, name) for name in TableOptions.__annotations__}
        return cast("TableOptions", given)

    @property
    def media_type(self) -> str:
        """The media type of the file."""
        return self._codec.media_type

    def training_rows(self) -> Upload:
        """Labeled rows, checked for training."""
        try:
            return read_upload(self._codec, self.content, UNLIMITED, self.written)
        except (Invalid, Malformed) as error:
            raise self._explain(error) from None

    def inspect(self, url: str | None) -> dict[str, Any]:
        """How the table would be read, in the form of the service."""
        if url is None:
            return inspect_here(self._codec, self.content, self.written)
        from melm.remote import Client

        with Client(url) as client:
            return asdict(client.inspect(self.content, **self.options))

    def rows(self, model: Model) -> ModelRows:
        """Rows for a model."""
        from service.intake.rows import read_rows

        try:
            return read_rows(self._codec, self.content, UNLIMITED, model, self.written)
        except (Invalid, Malformed) as error:
            raise self._explain(error) from None

    def labeled_rows(self, model: Model) -> tuple[ModelRows, AnyArray]:
        """Rows for a model, and their labels."""
        from service.intake.inspection import check_known_labels

        rows = self.rows(model)
        try:
            return rows, check_known_labels(rows.y, rows.X.shape[0], model.classes)
        except Invalid as error:
            raise self._explain(error) from None

    def explain(self, problems: Sequence[FieldError]) -> CommandError:
        """An error with one line for each problem of the file."""
        return CommandError("\n".join(f"{self.name}: {self._describe(problem)}" for problem in problems))

    def _explain(self, error: Invalid | Malformed) -> CommandError:
        problems = [FieldError("", str(error))] if isinstance(error, Malformed) else error.errors
        return self.explain(problems)

    def _describe(self, problem: FieldError) -> str:
        """A problem, and the options that would resolve it."""
        return "; ".join([problem.detail, *as_options(problem.fixes), *([problem.advice] if problem.advice else [])])


def inspect_here(codec: Codec, content: bytes, options: ReadOptions) -> dict[str, Any]:
    """The reading of a file on this machine."""
    from service.schemas import ReadingOut

    reception = Reception(codec, UNLIMITED, options, is_dry=True)
    reception.take(content)
    return ReadingOut.of(reception.inspect()).model_dump(mode="json")


def codec_of(content: bytes) -> Codec:
    """The codec for a file with this beginning; CSV by default."""
    return CODECS[format_of(content[:HEAD_BYTES]).media_type]
