"""What every codec reads, and what it refuses."""

import csv
import io
import json
import math
import tracemalloc
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.ipc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from melm.tables.csv_table import read_csv
from melm.tables.options import ReadOptions
from melm.tables.roles import Role, RolesError, labels_of
from service.errors import Invalid, Malformed, NotAcceptable, RequestError, TooLarge, UnsupportedMediaType
from service.intake.cells import read_cells
from service.intake.formats import CODECS, Limits, Matrices, NamedArrays, codec_for_answer, codec_for_body
from tests.fuzz.bodies import repeating_schema

LIMITS = Limits(bytes=1_000_000, rows=1_000, columns=100)
X = np.array([[1.5, -2.0], [0.1, 3e-300], [7.0, 1e300]])
LABELS = np.array(["a", "b", "a"])
NAMES = ("width", "height")
JSON, CSV, NPY, NPZ = (
    CODECS[media_type] for media_type in ("application/json", "text/csv", "application/x-npy", "application/x-npz")
)
ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"


def npy(values: npt.NDArray[Any], **options: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values, **options)
    return stream.getvalue()


def npz(compress: bool = False, **arrays: npt.NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def arrow_table(**columns: Any) -> Any:
    return pytest.importorskip("pyarrow").table(columns)


def arrow_stream(table: Any, **options: Any) -> bytes:
    ipc = pytest.importorskip("pyarrow.ipc")
    sink = io.BytesIO()
    with ipc.new_stream(sink, table.schema, options=ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def messages_of(stream: bytes) -> dict[str, bytes]:
    """The messages of a stream, by what they are."""
    reader = pa.ipc.MessageReader.open_stream(stream)
    return {message.type: message.serialize().to_pybytes() for message in reader}


def parquet(table: Any) -> bytes:
    sink = io.BytesIO()
    pytest.importorskip("pyarrow.parquet").write_table(table, sink)
    return sink.getvalue()


def pointers(error: Invalid) -> list[str]:
    return [place for each in error.errors for place in each.places or (each.pointer,)]


def read(media_type: str, body: bytes, target: str | None = None, limits: Limits = LIMITS) -> Matrices:
    """The numbers and labels of a body, whether it holds a matrix or a table."""
    cells = read_cells(media_type, body, limits, ReadOptions(target=target))
    if cells is None:
        return CODECS[media_type].read_matrix(body, limits)
    names = tuple(name for name in cells.table.names if name != target)
    return Matrices(cells.table.numbers, cells.y if target is None else labels_of(cells.table, target), names)


class TestDecode:
    def test_every_codec_reads_the_same_table(self) -> None:
        columns = {"width": X[:, 0], "height": X[:, 1], "kind": LABELS}
        rows = [[*map(repr, row), label] for row, label in zip(X.tolist(), LABELS.tolist(), strict=True)]
        bodies = {
            "application/json": json.dumps({"X": X.tolist(), "y": LABELS.tolist(), "feature_names": NAMES}).encode(),
            "text/csv": "\n".join(["width,height,kind", *map(",".join, rows)]).encode(),
            "application/x-npz": npz(X=X, y=LABELS, feature_names=np.array(NAMES)),
            ARROW: arrow_stream(arrow_table(**columns)),
            PARQUET: parquet(arrow_table(**columns)),
        }
        for media_type, body in bodies.items():
            table = read(media_type, body, "kind")
            assert table.y is not None
            np.testing.assert_array_equal(table.X, X)
            np.testing.assert_array_equal(table.y, LABELS)
            assert table.feature_names == NAMES

    def test_json_rows_by_name_in_any_order(self) -> None:
        body = json.dumps({"rows": [{"a": 1, "b": 2}, {"b": 4, "a": 3}]}).encode()
        table = JSON.read_matrix(body, LIMITS)
        np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
        assert table.feature_names == ("a", "b")

    def test_npy_is_not_copied(self) -> None:
        body = npy(X)
        table = NPY.read_matrix(body, LIMITS)
        assert np.shares_memory(table.X, np.frombuffer(body, np.uint8))

    def test_stored_npz_is_not_copied_and_a_compressed_one_is_read(self) -> None:
        body = npz(X=X)
        assert np.shares_memory(NPZ.read_matrix(body, LIMITS).X, np.frombuffer(body, np.uint8))
        np.testing.assert_array_equal(NPZ.read_matrix(npz(compress=True, X=X), LIMITS).X, X)

    @pytest.mark.parametrize(
        "values", [X.astype(">f8"), np.asfortranarray(X), (X > 1).astype("<f4"), np.ones((2, 2), np.int8)]
    )
    def test_npy_becomes_native_floats_in_c_order(self, values: npt.NDArray[Any]) -> None:
        decoded = NPY.read_matrix(npy(values), LIMITS).X
        assert decoded.flags.c_contiguous
        assert decoded.dtype == (np.float32 if values.dtype == np.float32 else np.float64)
        np.testing.assert_array_equal(decoded, values)

    @pytest.mark.parametrize(
        ("labels", "kind"),
        [(["a", "b"], "U"), ([1, 2], "i"), ([1, 2.5], "f"), ([True, False], "b"), (["1", "2"], "U")],
    )
    def test_json_labels_keep_their_kind(self, labels: list[Any], kind: str) -> None:
        table = JSON.read_matrix(json.dumps({"X": [[1], [2]], "y": labels}).encode(), LIMITS)
        assert table.y is not None
        assert table.y.dtype.kind == kind
        assert table.y.tolist() == labels

    @pytest.mark.parametrize(
        ("labels", "expected"), [(["1", "-2"], [1, -2]), (["007", "1"], ["007", "1"]), (["x", "1"], ["x", "1"])]
    )
    def test_csv_labels_are_whole_numbers_or_text(self, labels: list[str], expected: list[Any]) -> None:
        table = read(CSV.media_type, "\n".join(["a,y", *(f"1,{label}" for label in labels)]).encode(), "y")
        assert table.y is not None
        assert table.y.tolist() == expected

    def test_csv_reads_quotes_windows_line_ends_and_a_byte_order_mark(self) -> None:
        table = read(CSV.media_type, b'\xef\xbb\xbf"a, b",y\r\n"1.5","no, ""yes"""\r\n', "y")
        assert table.feature_names == ("a, b",)
        assert table.y is not None
        assert table.y.tolist() == ['no, "yes"']


class TestRefusal:
    def test_json_reports_every_wrong_cell_at_once(self) -> None:
        body = b'{"X": [[1, "two"], [null, 4], [5, NaN], [6], [1e999, true]], "y": ["a", null], "colour": 1}'
        with pytest.raises(Invalid) as caught:
            JSON.read_matrix(body, LIMITS)
        assert set(pointers(caught.value)) == {
            "/colour",
            "/X/0/1",
            "/X/1/0",
            "/X/2/1",
            "/X/3",
            "/X/4/0",
            "/X/4/1",
            "/y/1",
        }

    def test_json_with_rows_given_twice(self) -> None:
        with pytest.raises(Malformed, match="X more than once"):
            JSON.read_matrix(b'{"X": [[1], [2]], "X": [[3]]}', LIMITS)

    @pytest.mark.parametrize("body", [b"", b"{", b'{"X": [[1,]]}', b"\xff", b"[" * 100_000, b'{"X": [[1]]} extra'])
    def test_json_that_is_none_is_malformed(self, body: bytes) -> None:
        with pytest.raises(Malformed):
            JSON.read_matrix(body, LIMITS)

    def test_json_numbers_of_absurd_length(self) -> None:
        with pytest.raises(RequestError):
            JSON.read_matrix(b'{"X": [[' + b"9" * 100_000 + b"]]}", LIMITS)

    @pytest.mark.parametrize(
        "body",
        [
            *(
                {"X": [[1]], "rows": [{"a": 1}]},
                {},
                [],
                {"X": 1},
                {"X": [[1]], "y": [1, "a"]},
                {"rows": [{"a": 1}, {}]},
            ),
            *({"X": [[True]]}, {"X": [[1, False]]}, {"X": [{}]}, {"X": [[[1]]]}, {"X": [None]}, {"X": [[10**400]]}),
        ],
    )
    def test_json_of_another_shape(self, body: Any) -> None:
        with pytest.raises(Invalid):
            JSON.read_matrix(json.dumps(body).encode(), LIMITS)

    @pytest.mark.parametrize(("text", "pointer"), [("a,y\n1", "/0"), ("", ""), ("a,b\n1,2", "")])
    def test_csv_content(self, text: str, pointer: str) -> None:
        with pytest.raises(Invalid) as caught:
            read(CSV.media_type, text.encode(), "y")
        assert pointer in pointers(caught.value)

    def test_csv_that_is_no_text(self) -> None:
        with pytest.raises(Malformed, match="encoding"):
            read(CSV.media_type, b"a,y\n\xff\0,1", "y")

    def test_csv_with_a_quote_that_is_never_closed(self) -> None:
        with pytest.raises(Invalid):
            read(CSV.media_type, b'a,y\n"1', "y")

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"\x93NUMPY",
            npy(X)[:-1],
            npy(X) + b"0",
            npy(np.array([{}], object), allow_pickle=True),
            npy(X).replace(b"(3, 2)", b"(9, 9)"),
            npy(X).replace(b"(3, 2)", b"(-3,2)"),
            npy(X).replace(b"<f8", b"|O8"),
        ],
    )
    def test_npy_that_lies(self, body: bytes) -> None:
        with pytest.raises(Malformed):
            NPY.read_matrix(body, LIMITS)

    def test_npy_that_declares_a_huge_shape_allocates_nothing(self) -> None:
        header = npy(np.zeros((1, 1))).replace(b"(1, 1), }      ", b"(9999999, 9999)")
        with pytest.raises(Malformed):
            NPY.read_matrix(header, LIMITS)

    def test_npz_bomb_is_refused_by_its_declared_size(self) -> None:
        body = npz(compress=True, X=np.zeros((1_000, 1_000)))
        assert len(body) < 20_000
        with pytest.raises(TooLarge):
            NPZ.read_matrix(body, LIMITS)

    def test_npz_that_lies_about_its_size(self) -> None:
        honest = npz(compress=True, X=np.zeros((300, 100)))
        size = (300 * 100 * 8 + 128).to_bytes(4, "little")
        body = honest.replace(size, (500).to_bytes(4, "little"))
        assert body != honest
        with pytest.raises(Malformed):
            NPZ.read_matrix(body, LIMITS)

    @pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_npz_that_holds_more_than_it_declares_is_not_decompressed(self, compression: int) -> None:
        size = 64 << 20
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", compression) as archive:
            archive.writestr("X.npy", bytes(size))
        body = stream.getvalue().replace(size.to_bytes(4, "little"), (500).to_bytes(4, "little"))
        tracemalloc.start()
        try:
            with pytest.raises(Malformed):
                NPZ.read_matrix(body, LIMITS)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 4 * LIMITS.bytes

    def test_npz_damage(self) -> None:
        body = bytearray(npz(X=X))
        body[180] ^= 0xFF
        with pytest.raises(Malformed):
            NPZ.read_matrix(bytes(body), LIMITS)
        with pytest.raises(Malformed):
            NPZ.read_matrix(b"PK\x05\x06" + bytes(10), LIMITS)

    def test_npz_pickle(self) -> None:
        with pytest.raises(Malformed):
            NPZ.read_matrix(npz(X=np.array([[{}]], object)), LIMITS)

    def test_npz_with_too_many_members(self) -> None:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for index in range(100):
                archive.writestr(f"{index}.npy", b"")
        with pytest.raises(Malformed):
            NPZ.read_matrix(stream.getvalue(), LIMITS)

    @pytest.mark.parametrize("name", ["feature_names", "y"])
    def test_npz_with_half_characters(self, name: str) -> None:
        arrays = {"X": np.eye(2), name: np.array(["a", "\ud800"])}
        with pytest.raises(Malformed, match="not valid Unicode"):
            NPZ.read_matrix(npz(compress=False, **arrays), LIMITS)

    def test_npz_without_x(self) -> None:
        with pytest.raises(Invalid) as caught:
            NPZ.read_matrix(npz(Z=X), LIMITS)
        assert pointers(caught.value) == ["/X"]

    @pytest.mark.parametrize("media_type", [ARROW, PARQUET])
    def test_bytes_that_are_no_such_file(self, media_type: str) -> None:
        with pytest.raises(Malformed):
            read(media_type, b"no such thing")

    @pytest.mark.parametrize("media_type", [ARROW, PARQUET])
    @pytest.mark.parametrize("text", [b"name", b"text"])
    def test_arrow_names_and_values_that_are_not_utf8(self, media_type: str, text: bytes) -> None:
        sound = {ARROW: arrow_stream, PARQUET: parquet}[media_type](
            pa.table({"name": ["text"]}).replace_schema_metadata()
        )
        body = sound.replace(text, b"\xff" * 4)
        assert body != sound
        with pytest.raises(Malformed):
            read_cells(media_type, body, LIMITS, ReadOptions())

    def test_arrow_schema_that_repeats_itself(self) -> None:
        with pytest.raises(Invalid, match="named twice"):
            read(ARROW, repeating_schema())

    def test_arrow_batches_share_a_dictionary(self) -> None:
        text = pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int32()), ["x" * (LIMITS.bytes // 2)])
        sink = io.BytesIO()
        table = pa.table({"a": text})
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=10)
        cells = read_cells(ARROW, sink.getvalue(), LIMITS, ReadOptions())
        assert cells is not None
        assert len(cells.table) == 100

    @pytest.mark.parametrize("media_type", [ARROW, PARQUET])
    @pytest.mark.parametrize("text", [b"width", b"tomato"])
    def test_names_and_values_that_are_no_text(self, media_type: str, text: bytes) -> None:
        write = {ARROW: arrow_stream, PARQUET: parquet}[media_type]
        body = write(arrow_table(width=[1.0, 2.0], color=["tomato", "green"])).replace(text, b"\xff" + text[1:])
        with pytest.raises(Malformed, match=r"(?i)utf"):
            read(media_type, body, "color")
        with pytest.raises(Malformed, match=r"(?i)utf"):
            read(media_type, body)

    @pytest.mark.parametrize("media_type", [ARROW, PARQUET])
    def test_text_that_is_stored_once_and_repeated_stays_so(self, media_type: str) -> None:
        text = "x" * 100_000  # a hundred gigabytes, if it were written out
        column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000_000, np.int32)), [text])
        body = {ARROW: arrow_stream, PARQUET: parquet}[media_type](pa.table({"color": column}))
        cells = read_cells(media_type, body, Limits(1 << 24, 1 << 20, 100), ReadOptions())
        assert cells is not None
        assert cells.table.text("color")[1] == (text,)

    def test_more_cells_than_the_bytes_could_hold(self) -> None:
        table = pa.table({f"c{index}": pa.nulls(1_000, pa.bool_()) for index in range(100)})
        with pytest.raises(Invalid, match="100000 cells are more than the limit of 50000"):
            read(ARROW, arrow_stream(table), limits=Limits(100_000, 1_000, 100))

    def test_a_long_label_does_not_make_all_of_them_long(self) -> None:
        labels = ["x" * 100_000, *["a", "b"] * 500_000]
        limits = Limits(1 << 24, 1 << 21, 100)
        with pytest.raises(Invalid, match="a label has 100000 characters"):
            JSON.read_matrix(json.dumps({"X": [[1]] * len(labels), "y": labels}).encode(), limits)
        rows = "\n".join(f"1,{label}" for label in labels)
        with pytest.raises(RolesError, match="a value of 100000 characters"):
            read(CSV.media_type, f"a,y\n{rows}".encode(), "y", limits)

    @pytest.mark.parametrize("shape", [(1_001, 1), (1, 101)])
    def test_more_rows_or_columns_than_the_limit(self, shape: tuple[int, int]) -> None:
        values = np.zeros(shape)
        text = "\n".join(
            [",".join(f"c{index}" for index in range(shape[1])), *(",".join(["0"] * shape[1]),) * shape[0]]
        )
        bodies = {
            JSON: json.dumps({"X": values.tolist()}).encode(),
            NPY: npy(values),
            NPZ: npz(X=values),
            CSV: text.encode(),
        }
        for codec, body in bodies.items():
            with pytest.raises(Invalid, match="limit"):
                read(codec.media_type, body)


class TestFuzz:
    """Whatever comes, a codec either reads it or refuses it."""

    @given(st.sampled_from(sorted(CODECS)), st.binary(max_size=300))
    def test_bytes(self, media_type: str, body: bytes) -> None:
        self.decode(media_type, body)

    @given(
        st.sampled_from([("application/x-npy", npy(X)), ("application/x-npz", npz(X=X, y=LABELS))]),
        st.lists(st.tuples(st.integers(0, 1_000), st.integers(0, 255)), max_size=4),
    )
    def test_damaged_arrays(self, case: tuple[str, bytes], changes: list[tuple[int, int]]) -> None:
        media_type, body = case
        damaged = bytearray(body)
        for position, value in changes:
            damaged[position % len(damaged)] = value
        self.decode(media_type, bytes(damaged))

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["X", "y", "rows", "a"]), inner)
            ),
            max_leaves=20,
        )
    )
    def test_json_values(self, value: Any) -> None:
        self.decode("application/json", json.dumps(value).encode())

    def decode(self, media_type: str, body: bytes) -> None:
        try:
            table = read(media_type, body)
        except RequestError:
            return
        assert table.X.ndim == 2
        assert table.X.dtype.kind == "f"

    @given(
        st.lists(
            st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2), min_size=1, max_size=5
        )
    )
    def test_numbers_survive_json_and_csv(self, rows: list[list[float]]) -> None:
        body = json.dumps({"X": rows}).encode()
        assert JSON.read_matrix(body, LIMITS).X.tolist() == rows
        text = "\n".join(["a,b", *(",".join(map(repr, row)) for row in rows)])
        assert read_csv([text.encode()], ReadOptions(others=Role.NUMERIC)).numbers.tolist() == rows

    @given(st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,30})?(e[+-]?[0-9]{1,2})?", fullmatch=True))
    @example("9007199254740993")  # between two doubles
    @example("18446744073709551616")  # beyond 64 bits
    @example("2.2250738585072011e-308")  # the largest that is not normal
    def test_json_numbers_are_rounded_as_python_rounds_them(self, text: str) -> None:
        (number,) = JSON.read_matrix(f'{{"X": [[{text}]]}}'.encode(), LIMITS).X.ravel()
        assert float(number).hex() == float(json.loads(text)).hex()


class TestEncode:
    answer = NamedArrays(
        {
            "probabilities": np.array([[0.25, 0.75], [1.0, 0.0]]),
            "classes": np.array(["a", "b"]),
            "log_density": -np.ones(2),
        },
        ("a", "b", "log_density"),
        "mdl_1",
    )

    def test_json(self) -> None:
        assert json.loads(JSON.encode(self.answer)) == {
            "model_id": "mdl_1",
            "probabilities": [[0.25, 0.75], [1.0, 0.0]],
            "classes": ["a", "b"],
            "log_density": [-1, -1],
        }

    def test_csv(self) -> None:
        rows = list(csv.reader(io.StringIO(CSV.encode(self.answer).decode())))
        assert rows == [["a", "b", "log_density"], ["0.25", "0.75", "-1.0"], ["1.0", "0.0", "-1.0"]]

    def test_npy_and_npz(self) -> None:
        np.testing.assert_array_equal(np.load(io.BytesIO(NPY.encode(self.answer))), self.answer.main)
        with np.load(io.BytesIO(NPZ.encode(self.answer))) as arrays:
            assert set(arrays) == {"probabilities", "classes", "log_density"}

    def test_arrow(self) -> None:
        pa = pytest.importorskip("pyarrow")
        table = pa.ipc.open_stream(CODECS[ARROW].encode(self.answer)).read_all()
        assert table.column_names == ["a", "b", "log_density"]
        assert table["b"].to_pylist() == [0.75, 0.0]

    def test_infinity_is_null_in_json(self) -> None:
        answer = NamedArrays({"log_density": np.array([-math.inf])}, ("log_density",), "mdl_1")
        assert json.loads(JSON.encode(answer))["log_density"] == [None]


class TestFormulas:
    LABELS = np.array(["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "a=b", "", "'"])

    def encode(self, arrays: dict[str, Any], columns: tuple[str, ...], *, is_raw: bool = False) -> list[list[str]]:
        content = CSV.encode(NamedArrays(arrays, columns, "mdl_1", is_raw=is_raw)).decode()
        return list(csv.reader(io.StringIO(content, newline="")))

    def test_text_that_a_spreadsheet_would_compute_gets_an_apostrophe(self) -> None:
        rows = self.encode({"predictions": self.LABELS}, ("=header",))
        assert rows[0] == ["'=header"]
        assert [row[0] for row in rows[1:]] == [
            "'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\tx", "'\rx", "a=b", "", "'",
        ]  # fmt: skip

    def test_raw_text_stays(self) -> None:
        rows = self.encode({"predictions": self.LABELS}, ("=header",), is_raw=True)
        assert [row[0] for row in rows] == ["=header", *self.LABELS]

    def test_numbers_stay(self) -> None:
        rows = self.encode({"probabilities": np.array([[-1.5, 2.0]]), "classes": np.array([-1, 1])}, ("-1", "1"))
        assert rows == [["-1", "1"], ["-1.5", "2.0"]]

    def test_ids_are_text_too(self) -> None:
        assert self.encode({"Z": np.array([[-1.0]]), "ids": np.array(["=a"])}, ("z0", "id"))[1] == ["-1.0", "'=a"]


class TestNegotiation:
    @pytest.mark.parametrize(
        ("accept", "media_type"),
        [
            (None, "application/json"),
            ("*/*", "application/json"),
            ("application/x-npy", "application/x-npy"),
            ("text/*;q=0.5, application/x-npz", "application/x-npz"),
            ("text/html, text/csv;q=0.1", "text/csv"),
            ("application/json;q=0, */*", "text/csv"),
        ],
    )
    def test_accept(self, accept: str | None, media_type: str) -> None:
        assert codec_for_answer(accept).media_type == media_type

    def test_the_unknown_is_refused_by_naming_the_known(self) -> None:
        with pytest.raises(NotAcceptable, match="application/x-npy"):
            codec_for_answer("image/png")
        with pytest.raises(UnsupportedMediaType, match="application/x-npy"):
            codec_for_body("image/png")

    def test_content_type(self) -> None:
        assert codec_for_body("Text/CSV; charset=utf-8").media_type == "text/csv"
        with pytest.raises(UnsupportedMediaType, match="needs a Content-Type"):
            codec_for_body(None)


def test_labels_that_do_not_fit_are_refused_and_do_not_wrap() -> None:
    y = np.array([0, 2**63], np.uint64)
    with pytest.raises(Invalid) as refusal:
        NPZ.read_matrix(npz(X=np.eye(2), y=y), LIMITS)
    assert refusal.value.errors[0].pointer == "/y"
    assert NPZ.read_matrix(npz(X=np.eye(2), y=y[:1].repeat(2)), LIMITS).y is not None
