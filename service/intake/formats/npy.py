"""NumPy's npy and npz: uncompressed arrays are views of the body. Pickled objects are refused."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from scipy.sparse import csc_array, csr_array

from melm.tables import npy, sparse
from melm.typing import AnyArray, Matrix
from service.errors import FieldError, Invalid, Malformed, TooLarge
from service.intake.formats.table import (
    Codec,
    Content,
    Limits,
    Matrices,
    NamedArrays,
    as_features,
    as_labels,
    check_size,
)
from service.intake.memory import SPARSE_CELL_BYTES, SPARSE_COLUMN_BYTES, TEXT_BYTES, hold

MAX_MEMBERS = 16  # of an npz: a matrix, y, feature_names, and some that other programs add
LOCAL_HEADER_BYTES = 30
PIECE = 1 << 20  # characters that are looked at together
HALVES = (0xD800, 0xDFFF)  # surrogates


def read_npy(data: memoryview, name: str = "the body") -> AnyArray:
    """The array in an npy file."""
    try:
        array = npy.read(data)
    except npy.NpyError as error:
        raise Malformed(f"{name} {error}") from None
    if array.dtype.kind == "U" and has_half_characters(array):
        raise Malformed(f"{name} contains text that is not valid Unicode")
    return array


def has_half_characters(text: AnyArray) -> bool:
    """Whether some text contains a surrogate, which cannot be encoded as UTF-8."""
    if not text.size or not text.itemsize:
        return False
    points = text.ravel(order="K").view(np.dtype(np.uint32).newbyteorder(text.dtype.byteorder))
    pieces = (points[begin : begin + PIECE] for begin in range(0, len(points), PIECE))  # a copy of all may be large
    return any(((piece >= HALVES[0]) & (piece <= HALVES[1])).any() for piece in pieces)


def read_npz(body: Content, limits: Limits) -> dict[str, AnyArray]:
    """The arrays of an npz file. The limit applies to their uncompressed size."""
    view = memoryview(body)
    try:
        with zipfile.ZipFile(pa.BufferReader(body)) as archive:  # a file object that does not copy the body
            members = archive.infolist()
            if len(members) > MAX_MEMBERS:
                raise Malformed(f"the npz has {len(members)} members; at most {MAX_MEMBERS} are read")
            if sum(member.file_size for member in members) > limits.bytes:
                raise TooLarge(limits.bytes)
            return {
                member.filename.removesuffix(".npy"): read_npy(read_member(archive, member, view), member.filename)
                for member in members
            }
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise Malformed(f"the body is not an npz file: {error}") from None


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, body: memoryview) -> memoryview:
    """The bytes of a member: a view of the body if it is uncompressed, else decompressed to its declared size."""
    if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 0x1:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise zipfile.BadZipFile(f"{member.filename} is neither stored nor deflated")
        with archive.open(member) as file:
            return memoryview(file.read(member.file_size))  # without a size, read() would not stop at the declared one
    header = body[member.header_offset : member.header_offset + LOCAL_HEADER_BYTES]
    name_and_extra = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    start = member.header_offset + LOCAL_HEADER_BYTES + name_and_extra
    data = body[start : start + member.file_size]
    if len(header) < LOCAL_HEADER_BYTES or len(data) != member.file_size or zlib.crc32(data) != member.CRC:
        raise zipfile.BadZipFile(f"{member.filename} is damaged")
    return data


def decode_npy(body: Content, limits: Limits) -> Matrices:
    """A bare matrix."""
    X = read_npy(memoryview(body))
    return Matrices(as_features(X, limits, ""))


def decode_npz(body: Content, limits: Limits) -> Matrices:
    """Arrays named `X`, `y` and `feature_names`; instead of `X` those of a sparse matrix, as SciPy names them."""
    arrays = read_npz(body, limits)
    is_filled = sparse.INDPTR not in arrays
    if is_filled and "X" not in arrays:
        raise Invalid([FieldError("/X", "is missing", f"arrays in the body: {', '.join(sorted(arrays)) or 'none'}")])
    names = arrays.get("feature_names")
    if names is not None and (names.ndim != 1 or names.dtype.kind != "U"):
        raise Invalid([FieldError("/feature_names", "is not a list of text")])
    hold(0 if names is None else names.nbytes + TEXT_BYTES * len(names))
    return Matrices(
        as_features(arrays["X"], limits) if is_filled else as_sparse(arrays, limits),
        as_labels(arrays["y"]) if "y" in arrays else None,
        None if names is None else tuple(names.tolist()),
    )


def as_sparse(arrays: Mapping[str, AnyArray], limits: Limits) -> Matrix:
    """A sparse matrix as the library takes it: CSR of float32 or float64, each cell once."""
    fault = sparse.describe_fault(arrays)
    if fault is not None:
        raise Invalid([FieldError("", fault, "write it by scipy.sparse.save_npz")])
    kind, shape, data, indices, indptr = (arrays[name] for name in sparse.NAMES)
    n_rows, n_columns = map(int, shape)
    check_size(n_rows, n_columns, limits, len(data))
    hold(SPARSE_CELL_BYTES * len(data) + SPARSE_COLUMN_BYTES * n_columns)
    values = data.astype(np.float32 if data.dtype.newbyteorder("=") == np.float32 else np.float64, copy=False)
    make = csr_array if kind.item() in (b"csr", "csr") else csc_array
    return sparse.canonical(make((values, indices, indptr), shape=(n_rows, n_columns)))


def encode_npy(answer: NamedArrays) -> bytes:
    """The main array alone."""
    return write_npy(answer.main)


def write_npy(values: AnyArray) -> bytes:
    """An npy file."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(values), allow_pickle=False)
    return stream.getvalue()


def encode_npz(answer: NamedArrays) -> bytes:
    """All arrays, uncompressed."""
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **answer.arrays)
    return stream.getvalue()


NPY = Codec("application/x-npy", encode_npy, decode_npy)
NPZ = Codec("application/x-npz", encode_npz, decode_npz)
