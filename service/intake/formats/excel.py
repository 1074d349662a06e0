"""Excel workbooks: a sheet is converted to CSV in the sandbox and read as CSV. Responses to workbooks are CSV."""

from __future__ import annotations

from dataclasses import replace

from melm.tables import files
from melm.tables.options import ReadOptions
from service.intake.formats import csv
from service.intake.formats.table import Codec, Content, Limits
from service.intake.sandbox import decoder


def open_sheet(body: Content, limits: Limits, options: ReadOptions) -> tuple[Content, ReadOptions]:
    """A sheet as CSV, and the options for reading it."""
    return decoder.convert(body, limits, options.sheet), replace(options, delimiter=",", encoding="utf-8")


EXCEL = Codec(files.EXCEL.media_type, csv.encode)
