"""MELM on rows beyond memory: the same bytes from memory, files and Dask, and clear words for what cannot be read."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster

from melm import MELM
from melm.data import beyond_memory
from melm.data.labeled_blocks import LabeledBlocks
from melm.data.row_blocks import ArrayBlocks
from melm.extras import MissingExtra
from melm.local import Progress
from melm.plan import RowsLost
from tests.servers import wait_until

N_ROWS, BLOCK = 6000, 1024
NAMES = [f"x{j}" for j in range(4)]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("melm.data.row_blocks.block_rows", lambda n_features: BLOCK)


@pytest.fixture(scope="module", name="X")
def rows() -> npt.NDArray[np.float64]:
    generator = np.random.default_rng(0)
    return generator.standard_normal((N_ROWS, 4)) + 0.8 * generator.standard_normal((3, 4))[np.arange(N_ROWS) % 3]


@pytest.fixture(scope="module", name="y")
def labels() -> npt.NDArray[np.str_]:
    return np.array(["adelie", "chinstrap", "gentoo"])[np.arange(N_ROWS) % 3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, X: Any, y: Any) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    for part in range(3):
        some = slice(part * 2000, (part + 1) * 2000)
        columns = {name: X[some, j] for j, name in enumerate(NAMES)}
        pq.write_table(pa.table({**columns, "kind": y[some]}), folder / f"part-{part}.parquet", row_group_size=700)
    return folder


@pytest.fixture(scope="module")
def in_memory(X: Any, y: Any) -> MELM:
    """The fit of the same blocks in memory."""
    sizes = [min(BLOCK, N_ROWS - begin) for begin in range(0, N_ROWS, BLOCK)]
    classes, codes = np.unique(y, return_inverse=True)

    def opened(*_: object) -> LabeledBlocks:
        return LabeledBlocks.of(ArrayBlocks(X, codes.astype(np.int32), sizes), classes, NAMES, 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("melm.estimator.is_beyond_memory", lambda _: True)
        patch.setattr("melm.estimator.open_rows", opened)
        return estimator().fit(X, y)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", processes=True) as cluster,
        Client(cluster),
    ):
        yield cluster


def estimator(**parameters: Any) -> MELM:
    return MELM(n_starts=3, regularization=None, random_state=0, **parameters)


def test_blocks_find_what_a_fit_in_memory_finds(in_memory: MELM, X: Any, y: Any) -> None:
    plain = estimator().fit(X, y)
    assert in_memory.divergence_ == pytest.approx(plain.divergence_, rel=1e-6)
    assert (in_memory.predict(framed(X)) == plain.predict(X)).mean() > 0.999
    assert in_memory.model_.card.data.class_counts == plain.model_.card.data.class_counts


def test_a_folder_of_files_gives_equal_bytes(folder: Path, in_memory: MELM, X: Any) -> None:
    streamed = estimator().fit(str(folder), "kind")
    assert streamed.projection_.tobytes() == in_memory.projection_.tobytes()
    assert streamed.divergence_ == in_memory.divergence_
    assert streamed.feature_names_in_.tolist() == NAMES
    frame = framed(X)
    assert (streamed.predict(folder) == streamed.predict(frame)).all()
    np.testing.assert_array_equal(streamed.transform(folder), streamed.transform(frame))


def test_a_dataset_of_pyarrow_gives_equal_bytes(folder: Path, in_memory: MELM) -> None:
    assert estimator().fit(pads.dataset(folder), "kind").projection_.tobytes() == in_memory.projection_.tobytes()


def test_a_mapped_array_gives_equal_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: MELM, X: Any, y: Any
) -> None:
    monkeypatch.setattr(beyond_memory, "SAMPLE_BYTES", 0)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    fitted = estimator().fit(mapped, y)
    assert fitted.projection_.tobytes() == in_memory.projection_.tobytes()
    assert (fitted.predict(mapped) == fitted.predict(X)).all()


def test_dask_gives_equal_bytes_and_answers_lazily(cluster: LocalCluster, in_memory: MELM, X: Any, y: Any) -> None:
    rows, labels = da.from_array(X, chunks=(BLOCK, -1)), da.from_array(y, chunks=BLOCK)
    fitted = estimator().fit(rows, labels)
    assert fitted.projection_.tobytes() == in_memory.projection_.tobytes()
    predicted: Any = fitted.predict(rows)
    assert isinstance(predicted, da.Array)
    assert (predicted.compute() == in_memory.predict(framed(X))).all()
    assert fitted.transform(rows).shape == (N_ROWS, 2)
    assert fitted.predict_proba(rows).shape == (N_ROWS, 3)


def test_a_data_frame_of_dask(X: Any, y: Any) -> None:
    frame = dd.from_pandas(framed(X).assign(kind=y), npartitions=4)
    fitted = estimator().fit(frame, "kind")
    assert fitted.feature_names_in_.tolist() == NAMES
    again = estimator().fit(frame[NAMES], frame["kind"])
    assert again.projection_.tobytes() == fitted.projection_.tobytes()
    assert (np.asarray(fitted.predict(frame)) == fitted.predict(framed(X))).all()


def test_a_worker_that_dies_changes_no_byte(cluster: LocalCluster, in_memory: MELM, X: Any, y: Any) -> None:
    killed: list[int] = []

    def kill(_: object) -> None:
        if not killed:
            worker = next(iter(cluster.workers.values()))
            killed.append(worker.pid)
            worker.process.process._process.kill()

    rows, labels = da.from_array(X, chunks=(BLOCK, -1)), da.from_array(y, chunks=BLOCK)
    fitted = estimator(callback=kill).fit(rows, labels)
    assert killed
    assert fitted.projection_.tobytes() == in_memory.projection_.tobytes()


class Unreliable:
    """Blocks that are lost at some pass."""

    def __init__(self, blocks: ArrayBlocks, last: float = np.inf) -> None:
        self.blocks, self.last, self.n_passes = blocks, last, 0

    @property
    def n_features(self) -> int:
        return self.blocks.n_features

    def total(self, function: Any, *arguments: object) -> Any:
        self.n_passes += 1
        if self.n_passes > self.last:
            raise RowsLost("The rows are lost.")
        return self.blocks.total(function, *arguments)


def test_a_fit_that_lost_its_rows_goes_on_where_it_was(
    monkeypatch: pytest.MonkeyPatch, in_memory: MELM, X: Any, y: Any
) -> None:
    sizes = [min(BLOCK, N_ROWS - begin) for begin in range(0, N_ROWS, BLOCK)]
    classes, codes = np.unique(y, return_inverse=True)
    blocks = Unreliable(ArrayBlocks(X, codes.astype(np.int32), sizes))
    monkeypatch.setattr("melm.estimator.is_beyond_memory", lambda _: True)
    monkeypatch.setattr("melm.estimator.open_rows", lambda *_: LabeledBlocks.of(blocks, classes, NAMES, 0))
    estimator().fit(X, y)
    whole = blocks.n_passes
    blocks.n_passes, blocks.last = 0, whole - 20
    cut_off = estimator(warm_start=True)
    with pytest.raises(
        RowsLost, match=r"are lost\. The search stood at 'start', with 2 of 3 units done and 1. evaluations"
    ):
        cut_off.fit(X, y)
    blocks.n_passes, blocks.last = 0, np.inf
    cut_off.fit(X, y)
    assert blocks.n_passes <= 3 + 21
    assert cut_off.projection_.tobytes() == in_memory.projection_.tobytes()
    assert cut_off.divergence_ == in_memory.divergence_
    blocks.n_passes, blocks.last = 0, whole - 20
    with pytest.raises(RowsLost):
        cut_off.fit(X, y)
    blocks.n_passes, blocks.last = 0, np.inf
    cut_off.set_params(gamma=0.9).fit(X, y)  # another fit, which begins at the beginning
    assert blocks.n_passes > 30


@pytest.fixture
def start_cluster(tmp_path: Path) -> Iterator[Callable[[], tuple[Client, subprocess.Popen[bytes]]]]:
    """Starts a scheduler and a worker as processes of their own."""
    started: list[subprocess.Popen[bytes]] = []
    clients: list[Client] = []

    def start() -> tuple[Client, subprocess.Popen[bytes]]:
        address = tmp_path / f"scheduler-{len(started)}.json"
        python = [sys.executable, "-m", "distributed.cli"]
        quiet = ["--no-dashboard", "--scheduler-file", str(address)]
        scheduler = [f"{python[2]}.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
        worker = [f"{python[2]}.dask_worker", "--no-nanny", "--nthreads", "1", "--local-directory", str(tmp_path)]
        for command in (scheduler, worker):
            started.append(subprocess.Popen([*python[:2], *command, *quiet], stderr=subprocess.DEVNULL))
        wait_until(address.exists)
        client = Client(scheduler_file=str(address))
        clients.append(client)
        client.wait_for_workers(1)
        return client, started[-2]

    with dask.config.set({"distributed.comm.timeouts.connect": "60s"}):
        yield start
        for client in clients:
            client.close(timeout=1)
    for process in started:
        process.kill()
        process.wait()


def test_the_scheduler_is_killed(start_cluster: Any, in_memory: MELM, X: Any, y: Any) -> None:
    def open_rows() -> tuple[da.Array, da.Array]:
        return da.from_array(X, chunks=(BLOCK, -1)), da.from_array(y, chunks=BLOCK)

    client, scheduler = start_cluster()

    def kill(_: object) -> None:
        scheduler.kill()
        scheduler.wait()

    cut_off = estimator(warm_start=True, callback=kill)
    with pytest.raises(
        RowsLost, match=r"Dask has lost the rows: .* The search stood at 'start', with 1 of 3 units done"
    ):
        cut_off.fit(*open_rows())
    client.close(timeout=1)
    start_cluster()
    begun: list[Progress] = []
    cut_off.set_params(callback=begun.append).fit(*open_rows())
    assert cut_off.projection_.tobytes() == in_memory.projection_.tobytes()


def test_a_path_is_chosen_on_a_sample(folder: Path) -> None:
    fitted = MELM(regularization="path", n_starts=2, random_state=0).fit(folder, "kind")
    assert fitted.model_.card.search is not None
    assert fitted.model_.card.search.chosen is not None
    assert fitted.model_.card.data.n_rows == N_ROWS


def test_folds_of_rows_in_files_are_judged_where_they_are(folder: Path, X: Any, y: Any) -> None:
    judged = estimator().fit(folder, "kind").validate(folder, "kind", folds=2)
    found = judged.model_.card.validation
    assert found is not None
    assert np.sum(found.confusion) == N_ROWS
    with dask.config.set(scheduler="synchronous"):
        rows = dd.from_pandas(framed(X).assign(kind=y), npartitions=1).repartition(
            divisions=[*range(0, N_ROWS, BLOCK), N_ROWS - 1]
        )
        by_dask = estimator().fit(rows, "kind").validate(rows, "kind", folds=2)
    assert by_dask.model_.card.validation == found
    with pytest.raises(ValueError, match="not the rows to which the model was fitted"):
        judged.validate(framed(X[:50]), y[:50])


def framed(X: Any) -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES)


def write(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": [1.0, None] * 4, "kind": [0, 1] * 4}, "Row 1 has no value in column 'a'"),
        ({"a": [1.0, np.inf] * 4, "kind": [0, 1] * 4}, "Row 1 holds inf in column 'a'"),
        ({"a": ["u", "v"] * 4, "kind": [0, 1] * 4}, r"these columns are not: 'a' \(string\)"),
        ({"a": [1.0, 2.0] * 4, "kind": [0, None] * 4}, "Row 1 has no label in column 'kind'"),
        ({"a": [1.0, 2.0] * 4, "kind": [0, 0] * 4}, "At least two classes are needed, got 1 class: 0"),
        ({"a": [1.0, 2.0] * 4, "kind": [0] * 7 + [1]}, "class 1 has 1"),
        ({"a": [1.0, 1.0] * 4, "kind": [0, 1] * 4}, "All features are constant"),
        ({"a": [1.0, 2.0] * 4, "label": [0, 1] * 4}, "no column 'kind' among 'a', 'label'"),
        ({"a": pa.array([], pa.float64()), "kind": pa.array([], pa.int64())}, "hold no rows"),
    ],
)
def test_what_cannot_be_fitted_is_named(tmp_path: Path, columns: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MELM(1).fit(write(tmp_path / "rows.parquet", **columns), "kind")


def test_dictionaries_that_differ_name_the_same_labels(tmp_path: Path, folder: Path, in_memory: MELM) -> None:
    for number, file in enumerate(sorted(folder.iterdir())):
        table = pq.read_table(file)
        names = ["gentoo", "adelie", "chinstrap"] if number == 1 else ["adelie", "chinstrap", "gentoo"]
        codes = pa.array([names.index(label) for label in table["kind"].to_pylist()], pa.int8())
        coded = pa.DictionaryArray.from_arrays(codes, names)
        pq.write_table(table.set_column(4, "kind", coded), tmp_path / file.name)
    assert estimator().fit(tmp_path, "kind").projection_.tobytes() == in_memory.projection_.tobytes()


def test_a_file_without_rows_adds_none(tmp_path: Path, folder: Path, in_memory: MELM) -> None:
    for file in sorted(folder.iterdir()):
        shutil.copy(file, tmp_path)
    pq.write_table(pq.read_table(tmp_path / "part-0.parquet").slice(0, 0), tmp_path / "part-00.parquet")
    assert estimator().fit(tmp_path, "kind").projection_.tobytes() == in_memory.projection_.tobytes()


def test_a_damaged_file_and_other_columns_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / f"{name}.parquet", a=[1.0, 2.0], kind=[0, 1])
    (tmp_path / "b.parquet").write_bytes((tmp_path / "b.parquet").read_bytes()[:-9])
    with pytest.raises(ValueError, match="do not agree with each other, or are damaged"):
        MELM(1).fit(tmp_path, "kind")
    write(tmp_path / "b.parquet", b=[1.0, 2.0], kind=[0, 1])
    with pytest.raises(ValueError, match="Row 2 has no value in column 'a'"):
        MELM(1).fit(tmp_path, "kind")


def test_a_mapped_array_with_nan_names_the_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, X: Any, y: Any) -> None:
    monkeypatch.setattr(beyond_memory, "SAMPLE_BYTES", 0)
    spoiled = X.copy()
    spoiled[5000, 2] = np.nan
    np.save(tmp_path / "X.npy", spoiled)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    with pytest.raises(ValueError, match="Row 5000 holds nan in feature 2"):
        estimator().fit(mapped, y)
    with pytest.raises(ValueError, match=r"X has 6000 rows, and y the shape \(5,\)"):
        estimator().fit(mapped, y[:5])


def test_files_that_differ_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", a=[1.0, 2.0], b=[0.5, 1.5], kind=[0, 1])
    write(tmp_path / "b.parquet", b=["u", "v"], a=[1.0, 2.0], kind=[0, 1])
    with pytest.raises(ValueError, match="do not agree"):
        MELM(1).fit(tmp_path, "kind")


def test_columns_are_taken_by_name(tmp_path: Path, folder: Path, in_memory: MELM) -> None:
    for file in sorted(folder.iterdir()):
        table = pq.read_table(file)
        pq.write_table(
            table.select(table.column_names[::-1] if "1" in file.name else table.column_names), tmp_path / file.name
        )
    assert estimator().fit(tmp_path, "kind").projection_.tobytes() == in_memory.projection_.tobytes()


def test_a_class_may_come_late_and_a_dictionary_may_name_labels_without_rows(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    labels = pa.DictionaryArray.from_arrays(pa.array([0] * 2000 + [2] * 50), ["a", "none", "z"])
    path = write(
        tmp_path / "rows.parquet", u=generator.standard_normal(2050), v=generator.standard_normal(2050), kind=labels
    )
    assert estimator().fit(path, "kind").classes_.tolist() == ["a", "z"]


def test_no_file_and_no_target_are_named(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        MELM().fit(tmp_path / "nowhere", "kind")
    with pytest.raises(ValueError, match="name of the column that holds the labels"):
        MELM().fit(folder, np.zeros(3))


def cut(values: Any) -> list[Any]:
    """A small array in three blocks."""
    return np.split(np.asarray(values), 3)


def of_blocks(*blocks: npt.NDArray[Any], shape: tuple[Any, ...] = ()) -> da.Array:
    """An array of Dask that says of its blocks what it is told, not what they are."""
    declared = shape or blocks[0].shape
    parts = [da.from_delayed(dask.delayed(block), declared, blocks[0].dtype) for block in blocks]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def frame_of(*frames: pd.DataFrame) -> dd.DataFrame:
    return dd.from_delayed([dask.delayed(frame) for frame in frames], meta=frames[0].iloc[:0], verify_meta=False)


A12 = cut(np.arange(24.0).reshape(12, 2) % 7)
Y12 = cut([0, 1] * 6)
TEXT = np.array([["u", "v"]] * 4, dtype=object)
NAMED = [pd.DataFrame(block, columns=["u", "v"]).assign(kind=own) for block, own in zip(A12, Y12, strict=True)]


@pytest.mark.parametrize(
    ("rows", "labels", "words"),
    [
        (of_blocks(*A12), of_blocks(*Y12[:2]), "must have equal blocks"),
        (of_blocks(*A12), of_blocks(Y12[0], Y12[1], Y12[2][:3]), "Block 2 has 4 rows and 3 labels"),
        (of_blocks(A12[0], A12[1][:, :1], A12[2]), of_blocks(*Y12), r"Block 1 has the shape \(4, 1\), expected 2"),
        (of_blocks(A12[0], TEXT, A12[2]), of_blocks(*Y12), "Block 1 holds object where numbers are expected"),
        (of_blocks(A12[0], A12[1] * np.nan, A12[2]), of_blocks(*Y12), "Row 0 of block 1 holds nan in feature 0"),
        (of_blocks(*A12), of_blocks(Y12[0], Y12[1] * np.nan, Y12[2]), "Row 0 of block 1 has no label"),
        (of_blocks(*A12), of_blocks(Y12[0], np.array(["a", "b"] * 2), Y12[2]), "labels are of one kind"),
        (of_blocks(*A12), of_blocks(*[own * 0 for own in Y12]), "got 1 class: 0"),
        (of_blocks(*A12), of_blocks(Y12[0], Y12[1], np.array([0, 1, 0, 2])), "class 2 has 1"),
        (of_blocks(A12[0][:0]), of_blocks(Y12[0][:0]), "X holds no rows"),
        (of_blocks(*[block[:, :0] for block in A12]), of_blocks(*Y12), "X has no features"),
        (of_blocks(*A12, shape=(4, np.nan)), of_blocks(*Y12), "compute_chunk_sizes"),
        (da.from_array(np.array([["u"]])), of_blocks(*Y12), "X is of type <U1"),
        (da.ones(12), of_blocks(*Y12), "X has 1 dimensions"),
        (of_blocks(*A12), np.zeros(12), "y is a ndarray: with rows of Dask"),
        (frame_of(NAMED[0], NAMED[1].rename(columns={"v": "w"}), NAMED[2]), "kind", "A block has other columns .*'v'"),
        (
            frame_of(NAMED[0], NAMED[1].assign(v=[1.0, np.nan, 2.0, 3.0])),
            "kind",
            "Row 1 of block 1 holds nan in column",
        ),
        (frame_of(NAMED[0], NAMED[1].assign(v="text")), "kind", "Block 1 holds object where numbers are expected"),
        (frame_of(NAMED[0].assign(v="text")), "kind", "must be numeric; column 'v' is not"),
        (frame_of(*NAMED), "species", "no column 'species' among 'u', 'v', 'kind'"),
    ],
)
def test_what_dask_cannot_give_is_named(rows: Any, labels: Any, words: str) -> None:
    with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match=words):
        MELM(1).fit(rows, labels)


def test_columns_of_blocks_are_taken_by_name_and_blocks_may_be_empty(X: Any, y: Any) -> None:
    frame = framed(X[:1500]).assign(kind=y[:1500])
    parts = [frame[:700], frame[:0], frame[700:][["kind", *NAMES[::-1]]]]
    with dask.config.set(scheduler="synchronous"):
        whole = estimator().fit(frame_of(frame[:700], frame[700:]), "kind")
        assert estimator().fit(frame_of(*parts), "kind").projection_.tobytes() == whole.projection_.tobytes()


def test_a_class_may_be_in_the_last_block_only_and_chunks_may_be_unknown(X: Any) -> None:
    late = np.where(np.arange(1500) < 1400, 0, 1)
    with dask.config.set(scheduler="synchronous"):
        rows = da.from_array(X[:1500], chunks=(500, -1))
        unknown, labels = rows[rows[:, 0] > -9], da.from_array(late, chunks=500)[rows[:, 0] > -9]
        assert np.isnan(unknown.shape[0])
        fitted = estimator().fit(unknown, labels)
        assert fitted.classes_.tolist() == [0, 1]
        assert fitted.projection_.tobytes() == estimator().fit(rows, labels).projection_.tobytes()
        assert len(np.asarray(fitted.predict(unknown))) == 1500
        assert np.asarray(fitted.transform(unknown)).shape == (1500, 2)


def test_rows_of_other_features_are_refused(tmp_path: Path, folder: Path, in_memory: MELM, X: Any, y: Any) -> None:
    with pytest.raises(ValueError, match="expected 4 features"):
        in_memory.predict(da.from_array(X[:, :3]))
    with pytest.raises(ValueError, match="no column 'x3' among 'x0', 'x1', 'x2'"):
        in_memory.predict(dd.from_pandas(framed(X).drop(columns="x3"), npartitions=2))
    with pytest.raises(ValueError, match="no column 'x0' among 'other'"):
        in_memory.predict(write(tmp_path / "rows.parquet", other=[1.0]))
    nameless = MELM(n_starts=1, regularization=None).fit(X[:200], y[:200])
    with pytest.raises(ValueError, match="features have no names"):
        nameless.predict(folder)


def test_nothing_of_dask_is_imported_without_it(folder: Path) -> None:
    program = f"""
import sys
sys.modules["dask"] = sys.modules["distributed"] = None  # an import of them fails
from melm import MELM
MELM(n_starts=1, regularization=None).fit({str(folder)!r}, "kind").predict({str(folder)!r})
assert not [name for name in sys.modules if name.split(".")[0] in ("dask_ml",)]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_files_without_pyarrow_name_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("melm.extras.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"a fit of rows in files needs .*pip install 'melm\[tables\]'"):
        MELM().fit(folder, "kind")
