"""Decoders that break, bodies made to break them, and a child that lies: nobody else notices."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from melm.tables import arrow
from service.errors import Invalid, Malformed, RequestError
from service.intake.formats.table import Limits
from service.intake.sandbox import decoder
from service.intake.sandbox.decoder import Sandbox
from service.intake.sandbox.output import read_table
from tests.fuzz.bodies import parquet_of, stream_of
from tests.servers import ROOT, wait_until
from tests.workbooks import workbook

LIMITS = Limits(bytes=1 << 24, rows=1_000_000, columns=100)
TABLE = pa.table({"width": [1.5, None, 3.0], "color": ["red", None, "blue"]})


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    sandbox = Sandbox()
    yield sandbox
    sandbox.close()


def large(n_rows: int = 200_000) -> bytes:
    """A body that takes some time."""
    numbers = np.random.default_rng(0).standard_normal(n_rows)
    return parquet_of(pa.table({"width": numbers, "name": [f"name {row}" for row in range(n_rows)]}))


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def has_begun(warm: int, asked: Future[Any]) -> bool:
    return bool(children(warm)) or asked.done()


def n_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize(("reader", "write"), [("arrow", stream_of), ("parquet", parquet_of)])
def test_a_table_is_that_which_is_decoded_in_process(
    sandbox: Sandbox, reader: str, write: Callable[[Any], bytes]
) -> None:
    found = sandbox.decode(reader, write(TABLE), LIMITS)
    expected = arrow.from_arrow(TABLE)
    assert (found.names, found.number_names, found.categories) == (expected.names, ("width",), (("blue", "red"),))
    assert np.array_equal(found.numbers, expected.numbers, equal_nan=True)
    assert np.array_equal(found.codes, expected.codes)
    found.numbers[0, 0] = 7  # it is nobody's but ours
    assert found.cells("color") == ["red", None, "blue"]


@pytest.mark.parametrize("table", [TABLE.slice(0, 0), TABLE.select(["color"]), TABLE.select([])])
def test_tables_with_next_to_nothing(sandbox: Sandbox, table: Any) -> None:
    found = sandbox.decode("arrow", stream_of(table), LIMITS)
    assert (found.names, len(found)) == (tuple(table.column_names), table.num_rows)


def test_a_large_body_goes_by_files_on_the_disk(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    body = large()
    expected = sandbox.decode("parquet", body, LIMITS)
    monkeypatch.setattr(decoder, "SPILL_BYTES", 0)
    found = sandbox.decode("parquet", body, LIMITS)
    assert np.array_equal(found.numbers, expected.numbers)
    assert found.categories == expected.categories


def test_the_warm_process_has_one_thread_and_no_secrets(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MELM_KEYS", "secret")
    other = Sandbox()
    try:
        other.decode("parquet", parquet_of(TABLE), LIMITS)
        assert other.warm_pid is not None
        assert len(list(Path(f"/proc/{other.warm_pid}/task").iterdir())) == 1
        assert b"secret" not in Path(f"/proc/{other.warm_pid}/environ").read_bytes()
    finally:
        other.close()


def test_it_ends_with_the_process_that_started_it() -> None:
    program = (
        "import os, signal, sys; from service.intake.sandbox import decoder; from tests.fuzz.bodies import *;"
        "from service.intake.formats.table import Limits;"
        "decoder.decode('arrow', stream_of(pa.table(COLUMNS)), Limits(1 << 20, 100, 100));"
        "print(decoder.SANDBOX.warm_pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    warm = Path(f"/proc/{int(done.stdout)}")
    wait_until(lambda: not warm.exists() or "\nState:\tZ" in (warm / "status").read_text())


def test_a_table_beyond_the_limits_is_not_made(sandbox: Sandbox) -> None:
    body = parquet_of(pa.table({"width": np.zeros(1001), "height": np.zeros(1001)}))
    for limits, word in ((Limits(1 << 20, 1000, 10), "1001 rows"), (Limits(1 << 20, 2000, 1), "2 columns")):
        with pytest.raises(Invalid, match=word):
            sandbox.decode("parquet", body, limits)
    with pytest.raises(Invalid, match="2002 cells"):
        sandbox.decode("parquet", body, Limits(4000, 2000, 10))


def test_a_bomb_meets_the_limit_of_memory(sandbox: Sandbox) -> None:
    text = pa.table({"text": ["x" * (1 << 20)] * 320})
    body = parquet_of(text, compression="zstd", use_dictionary=False)
    assert len(body) < 1 << 20
    with pytest.raises(Invalid, match="MB of memory"):
        sandbox.decode("parquet", body, LIMITS)
    with pytest.raises(Invalid, match="MB of memory"):
        sandbox.decode("arrow", stream_of(text, compression="zstd"), LIMITS)
    assert len(sandbox.decode("parquet", parquet_of(TABLE), LIMITS)) == 3


def test_what_takes_too_long_is_killed(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "SECONDS", 0)
    with pytest.raises(Invalid, match="longer than the 0 seconds"):
        sandbox.decode("parquet", large(), LIMITS)


def test_a_body_that_takes_its_decoder_down_is_answered_with_a_sentence(sandbox: Sandbox) -> None:
    sandbox.decode("parquet", parquet_of(TABLE), LIMITS)
    warm = sandbox.warm_pid
    assert warm is not None
    said = ""
    with ThreadPoolExecutor(1) as pool:
        while not said:  # a child may have said all before it was struck
            asked = pool.submit(sandbox.decode, "parquet", large(), LIMITS)
            wait_until(partial(has_begun, warm, asked))
            for child in children(warm):
                os.kill(child, signal.SIGSEGV)
            if error := asked.exception():
                said = str(error)
    assert said == "the body crashed its decoder: it is damaged or malicious"
    assert len(sandbox.decode("parquet", parquet_of(TABLE), LIMITS)) == 3


def test_a_hundred_killed_children_cost_their_own_requests_only(sandbox: Sandbox) -> None:
    body, files = large(50_000), n_files()
    sandbox.decode("parquet", body, LIMITS)
    warm = sandbox.warm_pid
    assert warm is not None
    killed: set[int] = set()
    enough = threading.Event()

    def kill() -> None:
        while len(killed) < 100:
            for child in children(warm):
                if child not in killed:
                    os.kill(child, signal.SIGKILL)
                    killed.add(child)
        enough.set()

    def ask() -> tuple[int, int]:
        n_lost, n_answered = 0, 0
        while not enough.is_set():
            try:
                assert len(sandbox.decode("parquet", body, LIMITS)) == 50_000
                n_answered += 1
            except Invalid:
                n_lost += 1
        return n_lost, n_answered

    with ThreadPoolExecutor(4) as pool:
        killer = pool.submit(kill)
        asked = [pool.submit(ask) for _ in range(3)]
        killer.result()
        n_lost = sum(each.result()[0] for each in asked)
    assert n_lost <= len(killed)  # some had said all they had to say
    assert n_lost > 50
    assert sandbox.warm_pid == warm
    assert len(sandbox.decode("parquet", body, LIMITS)) == 50_000
    assert n_files() <= files + 1
    assert children(warm) == []


def test_no_request_is_lost_with_the_warm_process(sandbox: Sandbox) -> None:
    for _ in range(3):
        sandbox.decode("parquet", parquet_of(TABLE), LIMITS)
        assert sandbox.warm_pid is not None
        os.kill(sandbox.warm_pid, signal.SIGKILL)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(sandbox.decode, "parquet", large(), LIMITS) for _ in range(4)]
        wait_until(lambda: sandbox.warm_pid is not None and bool(children(sandbox.warm_pid)))
        warm = sandbox.warm_pid
        assert warm is not None
        os.kill(warm, signal.SIGKILL)
        assert {len(each.result()) for each in asked} == {200_000}


class TestLies:
    """What a child leaves that was taken over."""

    HEADER: dict[str, Any] = {  # noqa: RUF012
        "n_rows": 2,
        "names": ["a", "b"],
        "number_names": ["a"],
        "text_names": ["b"],
        "categories": [["x", "y"]],
    }
    VALUES = np.array([1.5, 2.5]).tobytes() + np.array([1, -1], np.int32).tobytes()

    def read(self, header: Any, values: bytes = VALUES, place: tuple[int, int] | None = None) -> Any:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        begin = len(values)
        with decoder.unnamed_file(1) as file:
            decoder.write_all(file, values + text)
            return read_table(file, place or (begin, begin + len(text)), Limits(1 << 20, 100, 100))

    def test_a_true_one(self) -> None:
        table = self.read(self.HEADER)
        assert (table.cells("a"), table.cells("b")) == ([1.5, 2.5], ["y", None])

    @pytest.mark.parametrize(
        "change",
        [
            {"n_rows": 3},
            {"n_rows": -1},
            {"n_rows": 2**62},
            {"names": ["a", "a"]},
            {"names": ["a"]},
            {"number_names": ["c"]},
            {"text_names": []},
            {"categories": []},
            {"categories": [["x"]]},
            {"categories": [["y", "x"]]},
            {"categories": [["x", "x"]]},
            {"categories": [[1, 2]]},
            {"more": 1},
        ],
    )
    def test_a_header_at_odds(self, change: dict[str, Any]) -> None:
        with pytest.raises(Invalid):
            self.read({**self.HEADER, **change})

    @pytest.mark.parametrize("text", [b"", b"{", b"[" * 100_000, b"\xff", b"null"])
    def test_a_header_that_is_none(self, text: bytes) -> None:
        with pytest.raises(Invalid):
            self.read(text)

    @pytest.mark.parametrize("place", [(-1, 10), (24, 10**9), (30, 24), (0, 0)])
    def test_a_place_that_is_not_there(self, place: tuple[int, int]) -> None:
        with pytest.raises(Invalid):
            self.read(self.HEADER, place=place)

    def test_codes_of_no_category(self) -> None:
        for code in (2, -2):
            with pytest.raises(Invalid):
                self.read(self.HEADER, np.zeros(2).tobytes() + np.array([0, code], np.int32).tobytes())

    @pytest.mark.parametrize(
        "answer",
        [
            b"",
            b"{}",
            b"\xff",
            b'{"header": [1]}',
            b'{"header": 5}',
            b'{"text": -1}',
            b'{"oversized": [1, 1]}',
            b'{"problems": [[]]}',
        ],
    )
    def test_an_answer_without_sense(self, answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Sandbox, "_patiently", lambda *_: answer or 0)
        for ask in (lambda: Sandbox().decode("arrow", b"", LIMITS), lambda: Sandbox().convert(b"", LIMITS, None)):
            with pytest.raises(RequestError):
                ask()


ATTEMPTS = {
    "a file": "open('/etc/passwd')",
    "a new file": "open('/tmp/melm-was-here', 'w')",
    "the network": "__import__('socket').socket()",
    "a process": "os.fork()",
    "a program": "os.execv('/bin/true', ['true'])",
    "a signal": "os.kill(os.getppid(), 0)",
    "a limit": "resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))",
    "a thread": "__import__('threading').Thread(target=print).start()",
}


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")
@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_a_child_can_do_nothing_but_compute(attempt: str) -> None:
    program = (
        "import os, resource, socket, threading; from service.intake.sandbox import child;"
        f"child.confine(child.Task('arrow', [], 10**9, 10**6, 10, None, 1, 1, 1)); {attempt}"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert any(word in done.stderr for word in ("PermissionError", "can't start new thread", "not allowed")), (
        done.stderr
    )


def test_limits_hold_where_there_is_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import resource; from service.intake.sandbox import child, seccomp; seccomp.restrict = lambda: False;"
        "child.confine(child.Task('arrow', [], 10**8, 10**6, 10, None, 1, 1, 1)); bytearray(2 * 10**8)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert "MemoryError" in done.stderr


def test_malformed_bodies_say_what_they_are_not(sandbox: Sandbox) -> None:
    for reader, word in (("arrow", "Arrow stream"), ("parquet", "Parquet file")):
        with pytest.raises(Malformed, match=f"the body is not an? {word}"):
            sandbox.decode(reader, b"no such thing", LIMITS)
    twice = pa.Table.from_arrays([pa.array([1.0])] * 2, names=["a", "a"])
    with pytest.raises(Invalid, match="columns are named twice: a"):
        sandbox.decode("arrow", stream_of(twice), LIMITS)
    with pytest.raises(Invalid) as caught:
        sandbox.decode("arrow", stream_of(pa.table({"a/b": [[1]]})), LIMITS)
    assert caught.value.errors[0].pointer == "/a~1b"


def test_a_sheet_of_a_workbook_is_csv(sandbox: Sandbox) -> None:
    body = workbook({"a": [], "b": [["name", "size"], ["x", 1.5]]})
    assert bytes(sandbox.convert(body, LIMITS, None)) == b"name,size\nx,1.5\n"
    with pytest.raises(Invalid) as caught:
        sandbox.convert(body, LIMITS, "c")
    assert caught.value.errors[0].fix == "sheets: 'a', 'b'"
    for other in (b"", b"no such thing", body[:-50]):
        with pytest.raises(Malformed, match="not an Excel workbook"):
            sandbox.convert(other, LIMITS, None)


def test_a_workbook_that_is_a_bomb(sandbox: Sandbox) -> None:
    bomb = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(workbook({"a": [["x"]]}))) as found,
        zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in found.namelist():
            content = found.read(name)
            if name.endswith("sheet1.xml"):
                content = content.replace(b"</row>", b"</row>" + b'<row><c t="str"><v>x</v></c></row>' * 4_000_000)
            archive.writestr(name, content)
    with pytest.raises(Invalid):
        sandbox.convert(bomb.getvalue(), LIMITS, None)
    assert len(sandbox.decode("parquet", parquet_of(TABLE), LIMITS)) == 3


def test_compressed_streams_are_read(sandbox: Sandbox) -> None:
    found = sandbox.decode("arrow", stream_of(TABLE, compression="zstd"), LIMITS)
    assert found.cells("width") == [1.5, None, 3.0]


def test_delta_dictionaries_are_read(sandbox: Sandbox) -> None:
    values = [str(index) for index in range(100)]
    sink = io.BytesIO()
    batches = [
        pa.record_batch({"a": pa.DictionaryArray.from_arrays(pa.array([size - 1], pa.int32()), values[:size])})
        for size in range(1, 100)
    ]
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    with pa.ipc.new_stream(sink, batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    assert sandbox.decode("arrow", sink.getvalue(), LIMITS).cells("a") == values[:99]
