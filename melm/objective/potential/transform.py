"""Sums of exp(i xi . u) between rows u and a regular grid of frequencies xi, in both directions.

They are sums over rows, so partial sums over blocks of rows can be computed anywhere and added up in any order.

Two transforms have the same interface. `Separable` multiplies small tables of sines and cosines, which is best for few
rows. `Nonuniform` calls a non-uniform FFT, which is best for many. Each gives the frequencies of its values, and how
often each value counts in a sum over the whole grid (a real density has phi(-xi) = conj phi(xi), so half the grid can
be enough).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

import finufft
import numpy as np
import numpy.typing as npt
from scipy.fft import next_fast_len

from melm.objective.potential import rotate
from melm.typing import Array

Spectrum: TypeAlias = npt.NDArray[np.complex128]
Modes: TypeAlias = tuple[int, ...]  # highest frequency index of each axis
Plans: TypeAlias = dict[int, Any]  # plans of finufft, by kind of transform, which all classes of one grid share

BLOCK_ROWS = 2**16  # at once, if the grid is not larger: about 5 MiB of working memory
UPSAMPLING = 2.0  # fixed: finufft's own choice depends on the number of rows, and blocks would not add up exactly
REFINEMENT = 1.25  # points of a tile per frequency, counting both signs
LEAST_POINTS = 32  # of a tile on each axis: twice the widest kernel
CACHED_POINTS = 2**16  # up to this size a grid fits in a core's cache, and sorting the rows first does not pay


class Transform(Protocol):
    """Rows of one class (n, k) as angles: rows @ basis - shift, coordinates times frequency steps."""

    def forward(self, shares: Array) -> Spectrum:
        """Sum over rows of share * exp(i m . angles) at the held grid indices m."""

    def backward(self, spectra: Spectrum) -> Iterator[tuple[slice, Array]]:
        """By blocks of rows (m, k): column j is the real part of the sum over m of spectra[j] * exp(i m . angles)."""


class Separable:
    """One or two axes. Holds indices 0..M of the first axis and -M..M of the second."""

    def __init__(
        self, rows: Array, basis: Array, shift: Array, modes: Modes, tolerance: float, plans: Plans | None = None
    ) -> None:
        angles = rotate(rows, basis) - shift
        self._tables = [_powers(angles[:, axis], m + 1) for axis, m in enumerate(modes)]

    @staticmethod
    def indices(modes: Modes) -> list[Array]:
        """Grid indices of each axis, shaped to broadcast over the held grid."""
        first, *rest = modes
        return broadcast([np.arange(first + 1.0), *(np.arange(-m, m + 1.0) for m in rest)])

    @staticmethod
    def multiplicity(modes: Modes) -> Array:
        """How often each held value counts: all but index 0 of the first axis stand for their mirror image too."""
        return broadcast([np.where(np.arange(modes[0] + 1) > 0, 2.0, 1.0), *(np.ones(1) for _ in modes[1:])])[0]

    def forward(self, shares: Array) -> Spectrum:
        if len(self._tables) == 1:
            sums: Spectrum = np.ascontiguousarray(shares) @ self._tables[0]
            return sums
        first, second = (table.view(np.float64) for table in self._tables)
        products = ((first.T * shares) @ second).reshape(first.shape[1] // 2, 2, -1, 2)
        cc, cs, sc, ss = products[:, 0, :, 0], products[:, 0, :, 1], products[:, 1, :, 0], products[:, 1, :, 1]
        positive, negative = (cc - ss) + 1j * (sc + cs), (cc + ss) + 1j * (sc - cs)
        return np.concatenate([negative[:, :0:-1], positive], axis=1)

    def backward(self, spectra: Spectrum) -> Iterator[tuple[slice, Array]]:
        yield slice(0, len(self._tables[0])), self._sums(spectra)

    def _sums(self, spectra: Spectrum) -> Array:
        if len(self._tables) == 1:
            lines: Array = (self._tables[0] @ spectra.T).real
            return lines
        first, second = (table.view(np.float64) for table in self._tables)
        n_second = second.shape[1] // 2
        positive = spectra[:, :, n_second - 1 :]
        negative = np.zeros_like(positive)
        negative[:, :, 1:] = spectra[:, :, n_second - 2 :: -1]
        tables = np.empty(
            (first.shape[1] // 2, 2, len(spectra), n_second, 2)
        )  # first index, cos/sin, spectrum, second index, cos/sin
        tables[:, 0, :, :, 0] = (positive.real + negative.real).swapaxes(0, 1)
        tables[:, 1, :, :, 1] = (negative.real - positive.real).swapaxes(0, 1)
        tables[:, 1, :, :, 0] = -(positive.imag + negative.imag).swapaxes(0, 1)
        tables[:, 0, :, :, 1] = (negative.imag - positive.imag).swapaxes(0, 1)
        mixed = (first @ tables.reshape(first.shape[1], -1)).reshape(len(first), len(spectra), -1)
        result: Array = np.einsum("njm,nm->nj", mixed, second)
        return result


class Nonuniform:
    """Up to three axes, by finufft, block of rows by block of rows. Holds indices -M..M of every axis."""

    def __init__(
        self, rows: Array, basis: Array, shift: Array, modes: Modes, tolerance: float, plans: Plans | None = None
    ) -> None:
        self._rows, self._basis, self._shift = rows, basis, shift
        self._plans: Plans = {} if plans is None else plans
        self._shape = tuple(2 * m + 1 for m in modes)
        self._tolerance = max(tolerance, 1e-14)

    @staticmethod
    def indices(modes: Modes) -> list[Array]:
        return broadcast([np.arange(-m, m + 1.0) for m in modes])

    @staticmethod
    def multiplicity(modes: Modes) -> Array:
        return np.ones((1,) * len(modes))

    def forward(self, shares: Array) -> Spectrum:
        spectrum: Spectrum = np.zeros(self._shape, dtype=np.complex128)
        for block in self._blocks():
            spectrum += self._plan(1, block).execute(shares[block].astype(np.complex128))
        return spectrum

    def backward(self, spectra: Spectrum) -> Iterator[tuple[slice, Array]]:
        # Two spectra of real functions are transformed as the real and the imaginary part of one.
        for block in self._blocks():
            plan = self._plan(2, block)
            result = np.empty((len(spectra), block.stop - block.start))
            for j in range(0, len(spectra), 2):
                values = plan.execute(spectra[j] + 1j * spectra[j + 1] if j + 1 < len(spectra) else spectra[j])
                result[j] = values.real
                if j + 1 < len(spectra):
                    result[j + 1] = values.imag
            yield block, result.T

    def _blocks(self) -> Iterator[slice]:
        size = max(BLOCK_ROWS, int(np.prod(self._shape)))
        for begin in range(0, len(self._rows), size):
            yield slice(begin, min(begin + size, len(self._rows)))

    def _plan(self, kind: int, block: slice) -> Any:
        angles = rotate(self._rows[block], self._basis)
        angles -= self._shift
        if kind not in self._plans:
            in_cache = np.prod(self._shape) <= CACHED_POINTS
            self._plans[kind] = finufft.Plan(
                kind,
                self._shape,
                eps=self._tolerance,
                isign=1,
                nthreads=1,
                upsampfac=UPSAMPLING,
                spread_sort=0 if in_cache else 2,
            )
        plan = self._plans[kind]
        plan.setpts(*np.ascontiguousarray(angles.T))
        return plan


def tile(modes: Modes) -> tuple[int, ...]:
    """Points of a tile on each axis: even numbers for which an FFT is fast."""
    return tuple(max(LEAST_POINTS, 2 * int(next_fast_len(int(np.ceil(REFINEMENT * m)) + 1))) for m in modes)


def _powers(angles: Array, count: int) -> Spectrum:
    """exp(i m angle) for m = 0..count-1, by doubling: (n, count)."""
    table = np.empty((len(angles), count), dtype=np.complex128)
    table[:, 0] = 1
    if count > 1:
        table[:, 1] = np.exp(1j * angles)
    size = 2
    while size < count:
        stop = min(2 * size, count)
        table[:, size:stop] = table[:, : stop - size] * (table[:, size - 1] * table[:, 1])[:, None]
        size = stop
    return table


def broadcast(axes: list[Array]) -> list[Array]:
    return [axis.reshape((1,) * j + (-1,) + (1,) * (len(axes) - j - 1)) for j, axis in enumerate(axes)]
