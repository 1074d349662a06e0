from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from melm.tables.stack import Stack


def stacked(blocks: list[npt.NDArray[Any]], spill_bytes: int | None) -> npt.NDArray[Any]:
    stack = Stack(3, np.float32, spill_bytes)
    for block in blocks:
        stack.append(block)
    return stack.finish()


@pytest.mark.parametrize("spill_bytes", [None, 0, 600])
@pytest.mark.parametrize("sizes", [[], [5], [40, 0, 3, 2000, 1]])
def test_rows_come_back_as_they_came(sizes: list[int], spill_bytes: int | None) -> None:
    generator = np.random.default_rng(0)
    blocks = [np.asfortranarray(generator.standard_normal((size, 3)).astype(np.float32)) for size in sizes]
    rows = stacked(blocks, spill_bytes)
    assert rows.dtype == np.float32
    assert np.array_equal(rows, np.concatenate([np.empty((0, 3), np.float32), *blocks]))
    rows[:] = 7  # it may be written to


def test_what_spills_is_in_a_file_that_has_no_name_and_ends_with_its_rows() -> None:
    def mapped_files() -> list[str]:
        return [line for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith("(deleted)")]

    def opened_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before, opened = len(mapped_files()), opened_files()
    rows = stacked([np.zeros((1000, 3))], 0)
    assert len(mapped_files()) == before + 1
    assert opened_files() <= opened + 1  # numpy's own, of the map
    del rows
    assert len(mapped_files()) == before
    assert opened_files() == opened
