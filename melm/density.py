"""Kernel density estimates of the projected classes, and the classifier that they make."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from melm.potential import whitening_basis
from melm.rows import Array

BLOCK_PAIRS = 2**17  # distances held at once: a megabyte
FARTHEST = 1e300  # squared distances end here, so that even the farthest query has finite log densities


@dataclass(frozen=True)
class ClassDensities:
    """f_c(z) = mean over the class's rows z_i of N(z - z_i; 0, S_c), with class priors."""

    rows: list[Array]  # C of (n_c, k)
    smoothing: Array  # (C, k, k)
    priors: Array  # (C,)

    def log_densities(self, Z: Array) -> Array:
        """log f_c at each row of Z: (n, C)."""
        return np.column_stack([kernels.log_density(Z) for kernels in self._kernels])

    def log_posteriors(self, Z: Array) -> Array:
        """log P(c | z): (n, C)."""
        return self._posteriors(self.log_densities(Z))

    def log_density(self, Z: Array) -> Array:
        """log of the mixture of all classes at each row of Z: how far a row is from all training data (n,)."""
        mixture: Array = np.logaddexp.reduce(self.log_densities(Z) + self._log_priors, axis=1)
        return mixture

    def leave_one_out(self, members: list[npt.NDArray[np.intp]]) -> tuple[npt.NDArray[np.intp], Array]:
        """Own class and log posteriors of chosen training rows, each judged without itself.

        `members` are indices into the rows of each class.
        """
        codes, joined = [], []
        for code, chosen in enumerate(members):
            Z = self.rows[code][chosen]
            logs = self.log_densities(Z)
            n_rows, S = len(self.rows[code]), self.smoothing[code]
            # log((n f(z) - N(0; S)) / (n - 1)), the density without the row's own kernel
            own = -np.log(2 * np.pi) * S.shape[0] / 2 - np.linalg.slogdet(S)[1] / 2
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.exp(np.minimum(own - np.log(n_rows) - logs[:, code], 0.0))
                logs[:, code] += np.log1p(-share) + np.log(n_rows / max(n_rows - 1, 1))
            joined.append(logs)
            codes.append(np.full(len(Z), code))
        return np.concatenate(codes), self._posteriors(np.concatenate(joined))

    @cached_property
    def _kernels(self) -> list[_Kernels]:
        """Prepared once: for a single row this costs more than the density itself."""
        return [_Kernels.prepare(rows, S) for rows, S in zip(self.rows, self.smoothing, strict=True)]

    @cached_property
    def _log_priors(self) -> Array:
        with np.errstate(divide="ignore"):
            logs: Array = np.log(self.priors)
            return logs

    def _posteriors(self, log_densities: Array) -> Array:
        joint = log_densities + self._log_priors
        posteriors: Array = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
        return posteriors


@dataclass(frozen=True)
class _Kernels:
    """The kernels of one class, in coordinates where each of them is the unit Gaussian."""

    basis: Array  # (k, k)
    rows: Array  # (n_c, k), whitened
    log_normalization: float

    @classmethod
    def prepare(cls, rows: Array, S: Array) -> _Kernels:
        basis = whitening_basis(S)
        log_normalization = np.linalg.slogdet(basis)[1] - S.shape[0] / 2 * np.log(2 * np.pi) - np.log(len(rows))
        return cls(basis, rows @ basis, float(log_normalization))

    def log_density(self, Z: Array) -> Array:
        """log of the mean of the kernels, relative to the nearest row: never 0/0 however far Z lies."""
        Q = Z @ self.basis
        result = np.empty(len(Q))
        size = max(1, BLOCK_PAIRS // len(self.rows))
        with np.errstate(over="ignore"):
            for begin in range(0, len(Q), size):
                K = cdist(Q[begin : begin + size], self.rows, "sqeuclidean")
                np.minimum(K, FARTHEST, out=K)
                nearest = K.min(axis=1)
                K -= nearest[:, None]
                K *= -0.5
                np.exp(K, out=K)
                result[begin : begin + size] = np.log(K.sum(axis=1)) - nearest / 2
        log_density: Array = result + self.log_normalization
        return log_density
