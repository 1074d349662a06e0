"""The file formats of tables, and how a whole file in memory is recognized: by its first bytes, not by its name."""

from __future__ import annotations

from dataclasses import dataclass

ZIP = b"PK\x03\x04"
NAME_LENGTH, NAME = 26, 30  # of the first member of a zip archive
DRY_RUN_BYTES = 16 << 20  # of CSV that a dry run reads
HEAD_BYTES = 1 << 10  # enough to recognize every format


@dataclass(frozen=True)
class Format:
    """A file format."""

    name: str
    media_type: str
    endings: tuple[str, ...]
    is_memory_safe: bool = True  # False: its decoder is native code, which a malicious file may exploit


CSV = Format("CSV", "text/csv", (".csv", ".tsv", ".tab", ".txt"))
JSON = Format("JSON", "application/json", (".json",))
NPY = Format("npy", "application/x-npy", (".npy",))
NPZ = Format("npz", "application/x-npz", (".npz",))
ARROW = Format("Arrow", "application/vnd.apache.arrow.stream", (".arrow", ".arrows", ".feather"), is_memory_safe=False)
PARQUET = Format("Parquet", "application/vnd.apache.parquet", (".parquet",), is_memory_safe=False)
EXCEL_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
EXCEL = Format("Excel", EXCEL_TYPE, (".xlsx",), is_memory_safe=False)
FORMATS = {each.media_type: each for each in (CSV, JSON, NPY, NPZ, ARROW, PARQUET, EXCEL)}
FIRST_BYTES = {b"PAR1": PARQUET, b"\xff\xff\xff\xff": ARROW, b"ARROW1": ARROW, b"\x93NUMPY": NPY}


def format_of(head: bytes) -> Format:
    """The format of a file that begins with these bytes; CSV by default."""
    if head.startswith(ZIP):
        n_bytes = int.from_bytes(head[NAME_LENGTH : NAME_LENGTH + 2], "little")
        name = head[NAME : NAME + n_bytes]
        return NPZ if name.endswith(b".npy") else EXCEL
    if head.lstrip().startswith(b"{"):
        return JSON
    return next((each for mark, each in FIRST_BYTES.items() if head.startswith(mark)), CSV)
