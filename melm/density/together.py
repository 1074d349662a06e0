"""The kernels of all classes in one array: with few queries, the time depends on the number of calls, not of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from melm.density.kernels import FARTHEST, Kernels
from melm.typing import Array


@dataclass(frozen=True)
class Together:
    """The kernels of all classes in sequence, in coordinates where each is exp(-|q - row|^2), without a factor."""

    basis: Array  # (k, k C), by component and then by class
    rows: Array  # (k n,), one component after the other
    columns: npt.NDArray[np.intp]  # (k n,), of the basis: the class and the component of each of `rows`
    codes: npt.NDArray[np.intp]  # (n,)
    starts: npt.NDArray[np.intp]  # (C,), where each class begins
    weights: Array | None  # (n,)
    log_normalizations: Array  # (C,)

    @classmethod
    def prepare(cls, classes: Sequence[Kernels]) -> Together:
        """Collect the kernels of all classes in one array."""
        n_classes, n_components = len(classes), len(classes[0].basis)
        counts = np.array([len(kernels.rows) for kernels in classes])
        codes = np.repeat(np.arange(n_classes), counts)
        weights = [kernels.weights for kernels in classes if kernels.weights is not None]
        return cls(
            np.stack([kernels.basis for kernels in classes], axis=2).reshape(n_components, -1) * np.sqrt(0.5),
            np.concatenate([kernels.rows for kernels in classes]).T.reshape(-1) * np.sqrt(0.5),
            np.concatenate([component * n_classes + codes for component in range(n_components)]),
            codes,
            np.cumsum(counts) - counts,
            np.concatenate(weights) if weights else None,
            np.array([kernels.log_normalization for kernels in classes]),
        )

    def log_densities(self, Z: Array) -> Array:
        """log f_c at each of few rows of Z, relative to the nearest row of the class: (n, C)."""
        n_queries, n_components = Z.shape
        D = (Z @ self.basis).take(self.columns, axis=1)
        with np.errstate(over="ignore"):
            D -= self.rows
            D *= D
            K = np.add.reduce(D.reshape(n_queries, n_components, len(self.codes)), axis=1)  # (queries, rows)
        np.minimum(K, FARTHEST / 2, out=K)
        nearest = np.minimum.reduceat(K, self.starts, axis=1)  # (queries, C)
        np.subtract(nearest.take(self.codes, axis=1), K, out=K)
        np.exp(K, out=K)
        if self.weights is not None:
            K *= self.weights
        logs: Array = np.log(np.add.reduceat(K, self.starts, axis=1))
        logs -= nearest
        logs += self.log_normalizations
        return logs
