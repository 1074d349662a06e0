"""The kernels of all classes in one array: for few queries, what costs is the number of calls, not of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from melm.density.kernels import FARTHEST, Kernels
from melm.rows import Array


@dataclass(frozen=True)
class Together:
    """The classes' kernels one after the other."""

    bases: Array  # (C, k, k)
    rows: Array  # (n, 1, k), each whitened by its class's basis
    counts: npt.NDArray[np.intp]  # (C,)
    starts: npt.NDArray[np.intp]  # (C,), where each class begins
    weights: Array | None  # (n, 1)
    log_normalizations: Array  # (C, 1)

    @classmethod
    def prepare(cls, classes: Sequence[Kernels]) -> Together:
        """All classes' kernels in one array."""
        counts = np.array([len(kernels.rows) for kernels in classes])
        weights = [kernels.weights for kernels in classes if kernels.weights is not None]
        return cls(
            np.stack([kernels.basis for kernels in classes]),
            np.concatenate([kernels.rows for kernels in classes])[:, None],
            counts,
            np.cumsum(counts) - counts,
            np.concatenate(weights)[:, None] if weights else None,
            np.array([[kernels.log_normalization] for kernels in classes]),
        )

    def log_densities(self, Z: Array) -> Array:
        """log f_c at each of few rows of Z, relative to the nearest row of the class: (n, C)."""
        D = np.repeat(Z @ self.bases, self.counts, axis=0)  # (rows, queries, k)
        with np.errstate(over="ignore"):
            D -= self.rows
            K = np.einsum("nqk,nqk->nq", D, D)
        np.minimum(K, FARTHEST, out=K)
        nearest = np.minimum.reduceat(K, self.starts)  # (C, queries)
        K -= np.repeat(nearest, self.counts, axis=0)
        K *= -0.5
        np.exp(K, out=K)
        if self.weights is not None:
            K *= self.weights
        logs: Array = np.log(np.add.reduceat(K, self.starts))
        logs -= nearest / 2
        logs += self.log_normalizations
        return logs.T
