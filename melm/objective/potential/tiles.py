"""The sums of `transform` for all classes of a grid at once: each class on a tile of its own.

A non-uniform FFT spreads rows over a regular lattice, and transforms the lattice. Here the lattice is divided into
tiles, one for each class: many classes are spread in one call, and then their tiles are transformed. The kernel of a
class damps the frequencies that suffer from aliasing, so tiles may be coarser than the lattice of a general transform.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, reduce
from typing import Any, TypeAlias

import finufft
import numpy as np
from scipy.fft import irfftn, rfftn

from melm.objective.potential import rotate
from melm.objective.potential.transform import LEAST_POINTS, UPSAMPLING, Modes, Spectrum, broadcast, tile
from melm.typing import Array

Piece: TypeAlias = tuple[int, slice]  # rows of one class, by its place among the classes

BLOCK_ROWS = 2**16  # spread in one call
BLOCK_POINTS = 2**21  # of tiles that are held at once: 32 MiB
KERNEL_TOLERANCE = 0.1  # times the tolerance, so that the spreading of rows adds no significant error
SAMPLES = 16  # of the spreading kernel between neighboring lattice points


class Tiles:
    """Rows of several classes (n, k) as angles: rows @ basis - shift.

    Holds indices 0..M of the last axis, and 0..M, -M..-1 of the others.
    """

    def __init__(self, rows: Sequence[Array], basis: Array, shift: Array, modes: Modes, tolerance: float) -> None:
        self._rows, self._basis, self._shift = rows, basis, shift[:, None]
        self._tolerance = max(KERNEL_TOLERANCE * tolerance, 1e-14)
        self._shape = tile(modes)
        n_chunks = min(len(rows), -(-len(rows) * int(np.prod(self._shape)) // BLOCK_POINTS))
        self._n_tiles = -(-len(rows) // n_chunks)
        self._held: Any = (slice(None), *np.ix_(*(index.ravel().astype(np.intp) for index in self.indices(modes))))
        signed = [
            _kernel_spectrum(self._tolerance, size, m, len(modes)) for m, size in zip(modes, self._shape, strict=True)
        ]
        *others, last = [1 / spectrum for spectrum in signed]
        whole = [np.concatenate([spectrum, spectrum[:0:-1]]) for spectrum in others]
        self._correction = reduce(np.multiply, broadcast([*whole, last]))
        self._plans: dict[int, Any] = {}

    @staticmethod
    def indices(modes: Modes) -> list[Array]:
        """Grid indices of each axis, shaped to broadcast over the held grid."""
        *others, last = modes
        whole = [np.concatenate([np.arange(m + 1.0), np.arange(-m, 0.0)]) for m in others]
        return broadcast([*whole, np.arange(last + 1.0)])

    @staticmethod
    def multiplicity(modes: Modes) -> Array:
        """How often each held value counts: all but index 0 of the last axis stand for their mirror image too."""
        return broadcast([*(np.ones(1) for _ in modes[1:]), np.where(np.arange(modes[-1] + 1) > 0, 2.0, 1.0)])[-1]

    def forward(self, shares: Sequence[Array]) -> Spectrum:
        """By class, the sum over its rows of share * exp(i m . angles) at the held grid indices m (C, ...)."""
        sums = np.empty((len(self._rows), *self._correction.shape), dtype=np.complex128)
        for begin, end in self._chunks():
            spread = None
            for pieces in self._groups(begin, end):
                weights = np.concatenate([shares[place][block] for place, block in pieces])
                own = self._plan(1, pieces, begin, -1).execute(weights.astype(np.complex128))
                spread = own if spread is None else spread + own
            tiles = np.asarray(spread).real.reshape(self._n_tiles, *self._shape)[: end - begin]
            sums[begin:end] = rfftn(tiles, axes=range(1, tiles.ndim))[self._held]
        sums *= self._correction
        return sums

    def backward(self, begin: int, spectra: Spectrum) -> Iterator[tuple[list[Piece], Array]]:
        """For the classes from `begin`, by blocks of their rows, sums over m of spectra * exp(i m . angles).

        `spectra` (k, C, ...) hold k of them for each class. Yields the rows, and the real parts of their sums (n, k).
        """
        for first, last in self._chunks(begin, begin + spectra.shape[1]):
            lattices = [self._on_lattice(own[first - begin : last - begin]) for own in spectra]
            for pieces in self._groups(first, last):
                plan, columns = self._plan(2, pieces, first, 1), []
                # Two real functions are transformed as the real and the imaginary part of a complex one.
                for values in _in_twos(lattices):
                    sums = plan.execute(values)
                    columns += [sums.real, sums.imag]
                yield pieces, np.stack(columns[: len(spectra)]).T

    def _on_lattice(self, spectra: Spectrum) -> Array:
        """Spectra of some classes, transformed to their tiles, one under the other, ready for interpolation."""
        n_classes, (*others, last) = len(spectra), self._shape
        padded = np.zeros((n_classes, *others, last // 2 + 1), dtype=np.complex128)
        padded[self._held] = spectra * self._correction
        padded[..., 1:] *= 0.5  # its inverse counts their mirror images, and so do these spectra
        tiles = np.zeros((self._n_tiles, *self._shape))
        tiles[:n_classes] = irfftn(padded, self._shape, axes=range(1, padded.ndim), norm="forward", overwrite_x=True)
        return tiles.reshape(-1, *self._shape[1:])

    def _chunks(self, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
        """Ranges of classes whose tiles are in memory at once."""
        end = len(self._rows) if end is None else end
        for first in range(begin, end, self._n_tiles):
            yield first, min(first + self._n_tiles, end)

    def _groups(self, begin: int, end: int) -> Iterator[list[Piece]]:
        """Blocks of rows that are spread in one call."""
        pieces: list[Piece] = []
        room = BLOCK_ROWS
        for place in range(begin, end):
            done, n_rows = 0, len(self._rows[place])
            while done < n_rows:
                stop = min(n_rows, done + room)
                pieces.append((place, slice(done, stop)))
                room -= stop - done
                done = stop
                if room == 0:
                    yield pieces
                    pieces, room = [], BLOCK_ROWS
        if pieces:
            yield pieces

    def _plan(self, kind: int, pieces: Sequence[Piece], begin: int, sign: int) -> Any:
        """Spreading (1) or interpolation (2), at the angles of some rows times a sign, on the tiles from `begin`."""
        if kind not in self._plans:
            shape = (self._n_tiles * self._shape[0], *self._shape[1:])
            self._plans[kind] = _spreading_plan(kind, shape, self._tolerance)
        angles = rotate(np.concatenate([self._rows[place][block] for place, block in pieces]), self._basis).T
        angles -= self._shift
        angles *= sign
        tile = np.repeat([place - begin for place, _ in pieces], [block.stop - block.start for _, block in pieces])
        angles[0] = (angles[0] + np.pi + 2 * np.pi * tile) / self._n_tiles - np.pi
        plan = self._plans[kind]
        plan.setpts(*angles)
        return plan


def _in_twos(lattices: Sequence[Array]) -> Iterator[Spectrum]:
    for j in range(0, len(lattices), 2):
        pair: Spectrum = np.zeros(lattices[j].shape, dtype=np.complex128)
        pair.real = lattices[j]
        if j + 1 < len(lattices):
            pair.imag = lattices[j + 1]
        yield pair


def _kernel_spectrum(tolerance: float, size: int, highest: int, n_components: int) -> Array:
    """The Fourier transform of the spreading kernel at indices 0..highest of a lattice that begins at angle -pi."""
    places, values = _kernel(tolerance, n_components)
    index = np.arange(highest + 1.0)
    spectrum: Array = np.cos((2 * np.pi / size * index)[:, None] * places) @ values
    spectrum[1::2] *= -1
    return spectrum


@cache
def _kernel(tolerance: float, n_components: int) -> tuple[Array, Array]:
    """Positions, in lattice steps, and values of finufft's spreading kernel, measured as there is no function for it.

    The kernel is even. Positions are from zero on, and the values count for both sides in a sum over the kernel.
    """
    plan = _spreading_plan(1, (LEAST_POINTS,) * n_components, tolerance)
    middle = LEAST_POINTS // 2
    sampled = np.empty((middle, SAMPLES))
    for sample in range(SAMPLES):
        plan.setpts(np.array([-2 * np.pi * sample / SAMPLES / LEAST_POINTS]), *np.zeros((n_components - 1, 1)))
        spread = plan.execute(np.ones(1, dtype=np.complex128)).real
        sampled[:, sample] = spread[(slice(middle, None), *[middle] * (n_components - 1))]
    values = sampled.ravel() / sampled[0, 0] ** ((n_components - 1) / n_components)
    values[1:] *= 2
    held = np.flatnonzero(values)
    return held / SAMPLES, values[held] / SAMPLES


def _spreading_plan(kind: int, shape: tuple[int, ...], tolerance: float) -> Any:
    """A plan for spreading (1) or interpolation (2) only, without a transform."""
    return finufft.Plan(kind, shape, eps=tolerance, isign=1, nthreads=1, upsampfac=UPSAMPLING, spreadinterponly=1)
