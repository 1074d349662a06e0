"""Tables: CSV read as it arrives, against the other parsers that were weighed."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from bench.measurement import Measurement, best_seconds, median_seconds
from melm.tables.arrow import read_parquet
from melm.tables.csv_table import read_csv
from melm.tables.encoding import Encoder
from melm.tables.table import Table
from service.errors import RequestError
from service.intake.formats import Limits
from service.intake.sandbox.decoder import SANDBOX

PIECE_BYTES = 1 << 20


def measurements(quick: bool) -> Iterator[Measurement]:
    """All of this part, one by one."""
    n_rows = 20_000 if quick else 200_000
    content = numbers_as_csv(n_rows)
    yield from against_others(content, n_rows)
    yield extra_memory(content, n_rows)
    yield encoding(n_rows)
    yield sandbox(n_rows // 8)


def numbers_as_csv(n_rows: int) -> bytes:
    """30 columns of numbers with all their digits, and a label."""
    X = np.random.default_rng(0).standard_normal((n_rows, 30))
    header = ",".join([*(f"x{j}" for j in range(30)), "label"])
    rows = (",".join([*map(repr, row), "ab"[index % 2]]) for index, row in enumerate(X.tolist()))
    return "\n".join([header, *rows, ""]).encode()


def pieces(content: bytes) -> Iterator[bytes]:
    """The file as it arrives."""
    return (content[begin : begin + PIECE_BYTES] for begin in range(0, len(content), PIECE_BYTES))


def against_others(content: bytes, n_rows: int) -> Iterator[Measurement]:
    """The same file by every parser that is here, each ending in one matrix."""
    import pandas as pd

    ours, of_numpy, of_pandas = median_seconds(
        lambda: read_csv(pieces(content)).numbers,
        lambda: np.loadtxt(io.BytesIO(content), delimiter=",", skiprows=1, usecols=range(30)),
        lambda: pd.read_csv(io.BytesIO(content)).iloc[:, :30].to_numpy(),
    )
    for name, theirs, at_least in (("numpy.loadtxt", of_numpy, 3), ("pandas.read_csv", of_pandas, 1)):
        yield Measurement(
            f"CSV of {n_rows:,} x 30, times faster than {name}",
            theirs / ours,
            at_least=at_least,
            note=f"{ours * 1e3:.0f} ms against {theirs * 1e3:.0f} ms",
        )


def extra_memory(content: bytes, n_rows: int) -> Measurement:
    """Peak memory of reading a file piece by piece beyond the matrix that comes out, in a process of its own."""
    program = """
import sys
from melm.tables.csv_table import read_csv
def peak_bytes():  # of this program alone: what getrusage says begins with its parent's
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
def pieces(path):
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            yield piece
read_csv([b"a,b\\n1,x\\n"])
before = peak_bytes()
table = read_csv(pieces(sys.argv[1]))
print((peak_bytes() - before) / (table.numbers.nbytes + table.codes.nbytes) - 1)
"""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(content)
        command = [sys.executable, "-c", program, str(path)]
        share = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return Measurement(f"Peak memory of reading {n_rows:,} x 30 beyond the table, times the table", share, at_most=2)


def encoding(n_rows: int) -> Measurement:
    """Gaps and categories as numbers, against one plain copy of the matrix that comes out."""
    generator = np.random.default_rng(0)
    numbers = generator.standard_normal((n_rows, 10))
    numbers[generator.random(numbers.shape) < 0.05] = np.nan
    names = tuple(f"x{j}" for j in range(10))
    categories = tuple(f"c{i}" for i in range(10))
    codes = generator.integers(-1, 10, (n_rows, 2)).astype(np.int32)
    table = Table((*names, "a", "b"), names, numbers, ("a", "b"), codes, (categories, categories))
    encoder = Encoder.fit(table)
    X = encoder.encode(table)
    ratio = best_seconds(lambda: encoder.encode(table)) / best_seconds(X.copy)
    return Measurement(f"Encoding {n_rows:,} rows of 12 columns, times a copy of the result", ratio)


def sandbox(n_rows: int) -> Measurement:
    """What it costs to decode a stranger's file in a child, against a child that finds nothing to decode."""
    sink = io.BytesIO()
    X = np.random.default_rng(0).standard_normal((n_rows, 30))
    pa.parquet.write_table(pa.table({f"x{j}": X[:, j] for j in range(30)}), sink)
    body, limits = sink.getvalue(), Limits(1 << 30, 10**7, 1000)

    def start_child() -> None:
        with suppress(RequestError):
            SANDBOX.decode("nothing", b"", limits)

    in_process, in_child, nothing = median_seconds(
        lambda: read_parquet(body), lambda: SANDBOX.decode("parquet", body, limits), start_child, repeats=15
    )
    return Measurement(
        f"Parquet of {len(body) / 1e6:.1f} MB in the sandbox beyond decoding it here, times a child with nothing to do",
        (in_child - in_process) / nothing,
        at_most=3,
        note=f"{in_child * 1e3:.0f} ms, {in_process * 1e3:.0f} ms here, {nothing * 1e3:.0f} ms",
    )
