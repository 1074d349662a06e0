"""Rows in blocks, for data that are larger than memory: sums over blocks, always in the same order.

All that a fit needs of its rows is a sum over blocks of a function of one block. The blocks are added up in pairs, the
pairs in pairs, and so on, so that equal blocks give equal bytes wherever each of them is processed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

BLOCK_BYTES = 2**24  # of rows as float64: a block is some tens of thousands of rows


class Addable(Protocol):
    """A type whose values can be added up."""

    def __add__(self, other: Self, /) -> Self: ...


A = TypeVar("A", bound=Addable)
Watch: TypeAlias = Callable[[int | None], object]  # called with the rows of each processed block; None at the end


@dataclass(frozen=True)
class RowBlock:
    """A block of rows with the codes of their classes."""

    X: npt.NDArray[Any]  # (m, d), float64 or float32
    codes: npt.NDArray[np.int32]  # (m,)
    index: npt.NDArray[np.uint64]  # (m,), of each row among all rows

    @classmethod
    def consecutive(cls, X: npt.NDArray[Any], codes: npt.NDArray[np.int32], first: int) -> RowBlock:
        """A block of consecutive rows."""
        return cls(X, codes, np.arange(first, first + len(codes), dtype=np.uint64))

    def take(self, chosen: npt.NDArray[np.bool_]) -> RowBlock:
        """Some of the rows."""
        return RowBlock(self.X[chosen], self.codes[chosen], self.index[chosen])

    def uniform(self, seed: int) -> npt.NDArray[np.float64]:
        """A random number in [0, 1) for each row, which depends on the seed and on the row's index only (m,)."""
        bits = _mix(self.index ^ _mix(np.array([seed % 2**63], dtype=np.uint64)))
        return np.asarray((bits >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


class RowBlocks(Protocol):
    """Labeled rows that are processed block by block, wherever they are."""

    @property
    def n_features(self) -> int: ...

    def total(self, function: Callable[..., A], *arguments: object) -> A:
        """The sum over blocks of function(block, *arguments), always added up in the same order."""


@dataclass(frozen=True)
class ArrayBlocks:
    """Blocks of an array in memory, or of a memory-mapped one."""

    X: npt.NDArray[Any]  # (n, d)
    codes: npt.NDArray[np.int32]  # (n,)
    sizes: Sequence[int]  # rows of each block

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def total(self, function: Callable[..., A], *arguments: object) -> A:
        """The sum over blocks of function(block, *arguments)."""
        return add_in_pairs(function(block, *arguments) for block in self._blocks())

    def _blocks(self) -> Iterator[RowBlock]:
        begin = 0
        for size in self.sizes:
            some = slice(begin, begin + size)
            yield RowBlock.consecutive(np.asarray(self.X[some]), self.codes[some], begin)
            begin += size


@dataclass(frozen=True)
class FileBlocks:
    """Blocks of rows in a file of numbers, read one at a time: only one block is in memory."""

    rows: Path  # n * d numbers
    labels: Path  # n numbers, the index in `recode` of each row's code
    dtype: np.dtype[Any]
    n_features: int
    recode: npt.NDArray[np.int32]
    sizes: Sequence[int]  # rows of each block

    def total(self, function: Callable[..., A], *arguments: object) -> A:
        """The sum over blocks of function(block, *arguments)."""
        return add_in_pairs(function(block, *arguments) for block in self._blocks())

    def _blocks(self) -> Iterator[RowBlock]:
        begin = 0
        with self.rows.open("rb") as rows, self.labels.open("rb") as labels:
            for size in self.sizes:
                X = np.fromfile(rows, self.dtype, size * self.n_features).reshape(size, self.n_features)
                yield RowBlock.consecutive(X, self.recode[np.fromfile(labels, np.int32, size)], begin)
                begin += size


@dataclass(frozen=True)
class WatchedBlocks:
    """Blocks that are processed in this process, with progress reported to `watch`."""

    blocks: RowBlocks
    watch: Watch

    @property
    def n_features(self) -> int:
        return self.blocks.n_features

    def total(self, function: Callable[..., A], *arguments: object) -> A:
        """The sum over blocks of function(block, *arguments)."""

        def seen(block: RowBlock, *arguments: object) -> A:
            part = function(block, *arguments)
            self.watch(len(block.codes))
            return part

        found = self.blocks.total(seen, *arguments)
        self.watch(None)
        return found


def unwatched(_: int | None) -> None:
    """Report no progress."""


def block_rows(n_features: int) -> int:
    """The number of rows of a block: a power of two, about BLOCK_BYTES."""
    return int(2 ** np.clip(np.log2(BLOCK_BYTES / (8 * n_features)) // 1, 10, 16))


def block_sizes(n_rows: int, n_features: int) -> list[int]:
    """The number of rows of each block."""
    size = block_rows(n_features)
    return [min(size, n_rows - begin) for begin in range(0, n_rows, size)]


def add_in_pairs(parts: Iterator[A]) -> A:
    """The sum of parts: neighbors are added up, then neighbors of these. Only a few parts are held at a time."""
    held: list[tuple[int, A]] = []  # sums of 2^level parts, the largest first
    for part in parts:
        level = 0
        while held and held[-1][0] == level:
            part = held.pop()[1] + part
            level += 1
        held.append((level, part))
    total = held.pop()[1]
    while held:
        total = held.pop()[1] + total
    return total


def _mix(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The bits of 64-bit numbers, thoroughly mixed, as the generator SplitMix64 does. Arithmetic is modulo 2^64."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
