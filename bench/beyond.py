"""Rows beyond memory: a fit of a folder of Parquet files, its memory, and the same rows by Dask."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from bench.large import clusters
from bench.measurement import Measurement
from melm.data.dask_blocks import BUNDLES
from melm.data.labeled_blocks import LabeledBlocks
from melm.data.prepared_rows import Everything
from melm.data.row_blocks import ArrayBlocks, RowBlock, block_rows, block_sizes
from melm.estimator import MELM
from melm.objective.beyond import divergence_on
from melm.typing import Array

N_STARTS, N_FEATURES, FILE_ROWS = 16, 30, 1_000_000
GROUP_ROWS = 50_000
GIGABYTE = 1e9
NETWORK = 1.25e8  # bytes a second
ALLOCATOR = {"distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**30}  # as docs/beyond-memory.md says
TASK = 1e-3  # seconds that Dask's scheduler takes for a task, as its documentation has it at most


def measurements(quick: bool) -> Iterator[Measurement]:
    """All of this part, one by one."""
    yield from out_of_core(1_000_000 if quick else 20_000_000)
    yield from by_dask(500_000 if quick else 2_000_000)
    yield from of_one_block(quick)


def write_rows(folder: Path, n_rows: int) -> None:
    """Two classes of three clusters each in six dimensions, mixed into all features: the rows of `bench.large`."""
    generator = np.random.default_rng(0)
    mixing = generator.standard_normal((N_FEATURES, N_FEATURES)) / np.sqrt(N_FEATURES)
    centers = 1.3 * generator.standard_normal((2, 3, 6))
    for number, begin in enumerate(range(0, n_rows, FILE_ROWS)):
        size = min(FILE_ROWS, n_rows - begin)
        y = generator.integers(2, size=size)
        X = generator.standard_normal((size, N_FEATURES))
        X[:, :6] += centers[y, generator.integers(3, size=size)]
        X[:, 6] *= 1 + y
        X = X @ mixing
        columns = {f"x{j}": X[:, j] for j in range(N_FEATURES)}
        path = folder / f"{number:03}.parquet"
        pq.write_table(pa.table({**columns, "y": y}), path, compression="none", row_group_size=GROUP_ROWS)


def fit(X: Any, y: Any) -> MELM:
    """The plain search."""
    return MELM(n_starts=N_STARTS, regularization=None, random_state=0).fit(X, y)


def two_products(folder: Path) -> float:
    """Seconds of one pass over the files that multiplies each batch of rows by a projection, and back."""
    V: Array = np.random.default_rng(1).standard_normal((N_FEATURES, 2))
    total = np.zeros_like(V)
    began = time.perf_counter()
    names = [f"x{j}" for j in range(N_FEATURES)]
    for batch in pads.dataset(folder).to_batches(columns=names, batch_readahead=2, fragment_readahead=1):
        X = np.column_stack([column.to_numpy() for column in batch.columns])
        total += X.T @ (X @ V)
    return time.perf_counter() - began


def out_of_core(n_rows: int) -> Iterator[Measurement]:
    """A whole fit in a process of its own: its peak memory, and its time in passes over the files."""
    program = """
import json, sys, time
from pathlib import Path
from bench.beyond import fit
from bench.measurement import peak_bytes
began = time.perf_counter()
search = fit(Path(sys.argv[1]), "y").model_.card.search
seconds = time.perf_counter() - began
print(json.dumps({"seconds": seconds, "peak": peak_bytes(), "spent": search.n_evaluations_on_all_rows}))
"""
    with tempfile.TemporaryDirectory(prefix="melm-bench-") as name:
        folder = Path(name)
        write_rows(folder, n_rows)
        n_bytes = sum(file.stat().st_size for file in folder.iterdir())
        before = two_products(folder)
        run = subprocess.run([sys.executable, "-c", program, name], stdout=subprocess.PIPE, text=True, check=True)
        one_pass = (before + two_products(folder)) / 2
    found = json.loads(run.stdout)
    what = f"Fit of {n_rows:,} x {N_FEATURES} from Parquet with {N_STARTS} starts"
    yield Measurement(
        f"{what}: peak memory, gigabytes",
        found["peak"] / GIGABYTE,
        at_most=1.5,
        note=f"the rows and their copy in the temporary folder are {8 * n_rows * N_FEATURES / GIGABYTE:.1f} GB each, "
        f"the files {n_bytes / GIGABYTE:.1f} GB",
    )
    yield Measurement(
        f"{what}, in passes over the files for two matrix products",
        found["seconds"] / one_pass,
        at_most=90,
        note=f"{found['seconds']:.0f} s against {one_pass:.1f} s; {found['spent']} evaluations were on all rows",
    )


@dataclass(frozen=True)
class Run:
    """One fit. Times are those of the processor, which other programs on the machine hardly disturb."""

    fitted: MELM
    seconds: float  # by the clock
    driver: float
    workers: list[float]

    @property
    def total(self) -> float:
        """Of the driver and, as they work side by side, the busiest of the workers: the driver waits for them."""
        return self.driver + max(self.workers, default=0.0)


def of_one_block(quick: bool) -> Iterator[Measurement]:
    """What one block costs, and what many rows on many cores would cost by that."""
    n_rows = 200_000 if quick else 500_000
    X, y = clusters(n_rows, N_FEATURES)
    codes = y.astype(np.int32)
    data = LabeledBlocks.of(ArrayBlocks(X, codes, block_sizes(n_rows, N_FEATURES)), np.arange(2), None, 0)
    prepared = data.prepare("ledoit_wolf")
    size = block_rows(N_FEATURES)
    spent: list[float] = []
    sent: list[int] = []

    class OneBlock:
        """The first block only, timed."""

        n_features = N_FEATURES

        def total(self, function: Callable[..., Any], *arguments: object) -> Any:
            began = time.process_time()
            part = function(RowBlock.consecutive(X[:size], codes[:size], 0), *arguments)
            spent.append(time.process_time() - began)
            sent.append(len(pickle.dumps(part)) + len(pickle.dumps(arguments)))
            return part

    V = MELM(n_starts=1, regularization=None, random_state=0).fit(X[:20_000], y[:20_000]).projection_
    one = replace(prepared, everything=Everything(OneBlock(), [n // (n_rows // size) for n in prepared.counts]))
    objective = divergence_on(one, 2, 1.0, "auto")
    for _ in range(2 if quick else 10):
        objective.value_and_gradient(prepared.to_whitened(V))
    rounds = [sum(spent[i : i + 2]) for i in range(0, len(spent), 2)]
    evaluation, bytes_sent = median(rounds), max(sent)
    n_blocks, n_cores, n_evaluations = -(-100_000_000 // size), 20, 30
    hops = int(np.ceil(np.log2(n_cores)))
    computing = n_evaluations * -(-n_blocks // n_cores) * evaluation
    sending = n_evaluations * 2 * hops * bytes_sent / NETWORK
    scheduling = n_evaluations * 2 * 2 * BUNDLES * TASK
    yield Measurement(
        f"One evaluation on a block of {size:,} x {N_FEATURES}, milliseconds of the processor",
        1000 * evaluation,
        note=f"a pass sends at most {bytes_sent / 1e6:.2f} MB for a block, there and back",
    )
    yield Measurement(
        f"A fit of 100,000,000 x {N_FEATURES} on {n_cores} cores by these costs, minutes (computed, not measured)",
        (computing + sending + scheduling) / 60,
        note=f"{n_evaluations} evaluations on {n_blocks} blocks: {computing:.0f} s of computing, {sending:.0f} s of "
        f"sending over {hops} levels at 1 Gbit/s, {scheduling:.0f} s of scheduling at 1 ms a task",
    )


def by_dask(n_rows: int) -> Iterator[Measurement]:
    """The same rows from files in one process, and by one and two workers of Dask."""
    with tempfile.TemporaryDirectory(prefix="melm-bench-") as name:
        folder = Path(name)
        write_rows(folder, n_rows)
        alone = Run(*timed(lambda: fit(folder, "y")), [])
        one, two = on_cluster(folder, n_rows, 1), on_cluster(folder, n_rows, 2)
    same = {run.fitted.projection_.tobytes() for run in (alone, one, two)}
    what = f"Fit of {n_rows:,} x {N_FEATURES}"
    yield Measurement(
        f"{what} by one worker of Dask, times the same from files in one process, by processor time",
        one.total / alone.total,
        at_most=1.3,
        note=f"{one.total:.0f} s against {alone.total:.0f} s; by the clock {one.seconds:.0f} and {alone.seconds:.0f} s",
    )
    yield Measurement(
        f"{what} by two workers of Dask, times one, by processor time of the driver and the busiest worker",
        two.total / one.total,
        at_most=0.75,
        note=f"{two.total:.1f} s, of which {two.driver:.1f} s are the driver's own, against {one.total:.1f} s with "
        f"{one.driver:.1f} s; by the clock {two.seconds:.0f} and {one.seconds:.0f} s",
    )
    yield Measurement(f"{what}: equal bytes from files and by one and two workers of Dask", 2 - len(same), at_least=1)


def timed(run: Callable[[], MELM]) -> tuple[MELM, float, float]:
    """What a fit gives, its seconds by the clock, and those that this process worked."""
    began, worked = time.perf_counter(), time.process_time()
    return run(), time.perf_counter() - began, time.process_time() - worked


def on_cluster(folder: Path, n_rows: int, n_workers: int) -> Run:
    """The fit of the rows of the files, in blocks as they are read from files, by so many workers of one thread."""
    import dask
    from dask import array
    from dask.delayed import delayed
    from distributed import Client, LocalCluster

    size = block_rows(N_FEATURES)
    sizes = [min(size, n_rows - begin) for begin in range(0, n_rows, size)]
    with (
        dask.config.set(ALLOCATOR),
        tempfile.TemporaryDirectory(prefix="melm-bench-") as scratch,
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", local_directory=scratch
        ) as cluster,
        Client(cluster) as client,
    ):
        parts = [delayed(read_block)(str(folder), number * size, rows) for number, rows in enumerate(sizes)]
        X = array.concatenate(
            [
                array.from_delayed(part[0], (rows, N_FEATURES), np.float64)
                for part, rows in zip(parts, sizes, strict=True)
            ]
        )
        y = array.concatenate(
            [array.from_delayed(part[1], (rows,), np.int64) for part, rows in zip(parts, sizes, strict=True)]
        )
        before = client.run(time.process_time)
        fitted, seconds, driver = timed(lambda: fit(X, y))
        after = client.run(time.process_time)
        return Run(fitted, seconds, driver, [after[worker] - before[worker] for worker in before])


def read_block(folder: str, begin: int, size: int) -> tuple[Array, Any]:
    """Some rows of the files."""
    parts, labels = [], []
    while size:
        file = Path(folder) / f"{begin // FILE_ROWS:03}.parquet"
        offset = begin % FILE_ROWS
        taken = min(size, FILE_ROWS - offset)
        groups = range(offset // GROUP_ROWS, -(-(offset + taken) // GROUP_ROWS))
        table = pq.ParquetFile(file).read_row_groups(list(groups)).slice(offset % GROUP_ROWS, taken)
        parts.append(np.column_stack([table[f"x{j}"].to_numpy() for j in range(N_FEATURES)]))
        labels.append(table["y"].to_numpy())
        begin, size = begin + taken, size - taken
    return np.concatenate(parts), np.concatenate(labels)
