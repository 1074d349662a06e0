"""Sums over the rows of several classes on tiles, against the same sums term by term."""

from __future__ import annotations

import numpy as np
import pytest

from melm.objective.potential import tiles
from melm.objective.potential.tiles import Tiles
from melm.objective.potential.transform import Modes, Spectrum
from melm.typing import Array

MODES: list[Modes] = [(30,), (14, 17), (5, 8, 6)]
STEPS = np.array([0.3, 0.25, 0.2])


def rows_of_classes(k: int) -> list[Array]:
    generator = np.random.default_rng(0)
    return [np.asfortranarray(generator.uniform(-6, 6, (n, k))) for n in (50, 1, 80)]


def on_tiles(rows: list[Array], modes: Modes, tolerance: float = 1e-10) -> Tiles:
    k = len(modes)
    return Tiles(rows, np.diag(STEPS[:k]), np.full(k, 0.1), modes, tolerance)


def waves(rows: Array, modes: Modes) -> Spectrum:
    """exp(i m . angles) of each row at each held index (n, ...)."""
    angles = rows * STEPS[: len(modes)] - 0.1
    result: Spectrum = np.ones((len(rows), *(1 for _ in modes)), dtype=np.complex128)
    for axis, index in enumerate(Tiles.indices(modes)):
        result = result * np.exp(1j * index * angles[:, axis].reshape(-1, *(1 for _ in modes)))
    return result


def damping(modes: Modes) -> Array:
    """What a density does to high frequencies; tiles are accurate after it."""
    squares = sum(np.square(index / m) for index, m in zip(Tiles.indices(modes), modes, strict=True))
    return np.asarray(1e-10 ** (squares / 2))


@pytest.mark.parametrize("modes", MODES)
def test_sums_over_rows(modes: Modes) -> None:
    rows = rows_of_classes(len(modes))
    shares = [np.random.default_rng(1).random(len(own)) for own in rows]
    found = on_tiles(rows, modes).forward(shares)
    for own, share, sums in zip(rows, shares, found, strict=True):
        expected = np.tensordot(share, waves(own, modes), 1)
        np.testing.assert_allclose(sums * damping(modes), expected * damping(modes), rtol=0, atol=1e-8 * share.sum())


@pytest.mark.parametrize("modes", MODES)
@pytest.mark.parametrize("n_spectra", [1, 2, 3])
def test_sums_over_frequencies(modes: Modes, n_spectra: int) -> None:
    rows = rows_of_classes(len(modes))
    generator = np.random.default_rng(2)
    shape = (n_spectra, 2, *damping(modes).shape)
    noise = generator.standard_normal(shape) + 1j * generator.standard_normal(shape)
    spectra = (damping(modes) ** 2 * noise).astype(np.complex128)
    found = np.concatenate([sums for _, sums in on_tiles(rows, modes).backward(1, spectra)])
    terms = zip(rows[1:], spectra.swapaxes(0, 1), strict=True)
    expected = [np.tensordot(waves(own, modes), s, (range(1, s.ndim), range(1, s.ndim))).real for own, s in terms]
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=0, atol=1e-7 * np.abs(spectra).sum() / n_spectra)


@pytest.mark.parametrize("block_rows", [7, 2**16])
@pytest.mark.parametrize("block_points", [1, 2**11, 2**21])
def test_blocks_of_rows_and_of_tiles_add_up(
    block_rows: int, block_points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = (14, 17)
    rows = rows_of_classes(2)
    shares = [np.full(len(own), 1 / len(own)) for own in rows]
    whole = on_tiles(rows, modes)
    sums = whole.forward(shares)
    spectra = np.stack([sums, 1j * sums])
    pulls = np.concatenate([own for _, own in whole.backward(0, spectra)])
    monkeypatch.setattr(tiles, "BLOCK_ROWS", block_rows)
    monkeypatch.setattr(tiles, "BLOCK_POINTS", block_points)
    in_blocks = on_tiles(rows, modes)
    np.testing.assert_allclose(in_blocks.forward(shares), sums, rtol=0, atol=1e-9)
    found = np.concatenate([own for _, own in in_blocks.backward(0, spectra)])
    np.testing.assert_allclose(found, pulls, rtol=0, atol=1e-9 * np.abs(pulls).max())


def test_a_class_does_not_depend_on_the_others() -> None:
    modes = (14, 17)
    rows = rows_of_classes(2)
    shares = [np.full(len(own), 1 / len(own)) for own in rows]
    together = on_tiles(rows, modes).forward(shares)
    for place in range(len(rows)):
        alone = on_tiles(rows[place : place + 1], modes).forward(shares[place : place + 1])
        np.testing.assert_allclose(together[place] * damping(modes), alone[0] * damping(modes), rtol=0, atol=1e-12)
