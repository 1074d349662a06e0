"""Excel workbooks for tests, written by hand: what a spreadsheet puts into its archive, at its least."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

Cell = str | int | float | bool | dt.date | None

TYPES = """<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/xl/workbook.xml"
 ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>"""
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
STYLES = f"""<styleSheet xmlns="{MAIN}"><cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/>
</cellXfs></styleSheet>"""
EPOCH = dt.datetime(1899, 12, 30)


def workbook(sheets: Mapping[str, Sequence[Sequence[Cell]]], first_column: int = 0, first_row: int = 0) -> bytes:
    """A workbook of these sheets; their tables may begin further right and further down."""
    file = io.BytesIO()
    numbers = range(1, len(sheets) + 1)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("_rels/.rels", relations([("officeDocument", "xl/workbook.xml")]))
        listed = "".join(
            f'<sheet name="{escape(name)}" sheetId="{number}" r:id="rId{number}"/>'
            for number, name in zip(numbers, sheets, strict=True)
        )
        book = f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>'
        archive.writestr("xl/workbook.xml", book)
        parts = [*(("worksheet", f"worksheets/sheet{number}.xml") for number in numbers), ("styles", "styles.xml")]
        archive.writestr("xl/_rels/workbook.xml.rels", relations(parts))
        archive.writestr("xl/styles.xml", STYLES)
        for number, rows in zip(numbers, sheets.values(), strict=True):
            archive.writestr(f"xl/worksheets/sheet{number}.xml", sheet(rows, first_column, first_row))
    return file.getvalue()


def relations(parts: Sequence[tuple[str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id="rId{number}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(parts, 1)
    )
    return f'<Relationships xmlns="{PACKAGE}">{listed}</Relationships>'


def sheet(rows: Sequence[Sequence[Cell]], first_column: int, first_row: int) -> str:
    written = []
    for index, row in enumerate(rows, first_row + 1):
        cells = (cell_of(f"{column_name(first_column + j)}{index}", cell) for j, cell in enumerate(row))
        written.append(f'<row r="{index}">{"".join(cells)}</row>')
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(written)}</sheetData></worksheet>'


def column_name(index: int) -> str:
    return (column_name(index // 26 - 1) if index >= 26 else "") + chr(ord("A") + index % 26)


def cell_of(place: str, cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return f'<c r="{place}" t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, str):
        return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(cell)}</t></is></c>'
    style = 0
    if isinstance(cell, dt.date):
        moment = cell if isinstance(cell, dt.datetime) else dt.datetime(cell.year, cell.month, cell.day)
        style, cell = (2 if isinstance(cell, dt.datetime) else 1), (moment - EPOCH) / dt.timedelta(days=1)
    return f'<c r="{place}" s="{style}"><v>{cell!r}</v></c>'
