"""Matrices that grow block by block, without a second copy at the end."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

FIRST_BYTES = 1 << 16


class Stack:
    """Collects blocks of rows. Beyond `spill_bytes` they go to a temporary file, which is memory-mapped at the end."""

    def __init__(self, n_columns: int, dtype: npt.DTypeLike = np.float64, spill_bytes: int | None = None) -> None:
        self._rows = np.empty((0, n_columns), dtype)
        self._n_rows = 0
        self._spill_bytes = spill_bytes
        self._file: BinaryIO | None = None

    def append(self, block: npt.NDArray[Any]) -> None:
        """The next rows."""
        n_rows = self._n_rows + len(block)
        row_bytes = self._rows.shape[1] * self._rows.itemsize
        if self._file is None and self._spill_bytes is not None and n_rows * row_bytes > self._spill_bytes:
            self._file = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115 - the map outlives any block of code
            self._file.write(self._rows[: self._n_rows].data)
            self._rows = self._rows[:0].copy()
        if self._file is not None:
            self._file.write(np.ascontiguousarray(block, self._rows.dtype).data)
        else:
            if n_rows > len(self._rows):
                self._resize(max(n_rows + n_rows // 8, FIRST_BYTES // max(row_bytes, 1)))
            self._rows[self._n_rows : n_rows] = block
        self._n_rows = n_rows

    def finish(self) -> npt.NDArray[Any]:
        """All rows. They may be written to."""
        if self._file is None:
            self._resize(self._n_rows)
            return self._rows
        self._file.flush()
        shape = (self._n_rows, self._rows.shape[1])
        rows = np.memmap(self._file, self._rows.dtype, "r+", shape=shape)
        self._file.close()
        return cast("npt.NDArray[Any]", rows.view(np.ndarray))

    def __del__(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # the content is not needed any more
                self._file.close()

    def _resize(self, n_rows: int) -> None:
        # The operating system moves the pages of a large array instead of copying them.
        self._rows.resize((n_rows, self._rows.shape[1]), refcheck=False)
