"""The divergence of many projections of few rows, in one vectorized evaluation.

With a few hundred rows, most of the time of an evaluation is overhead of Python, which the starts of a race share if
they are evaluated together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from melm.data.prepared_rows import PreparedRows
from melm.objective.bandwidth import silverman
from melm.objective.potential.pairs import PairSums, pairs_of_classes
from melm.typing import Array


class DivergenceStack:
    """D(V) and its gradient for a stack of projections of the same rows, by the exact form.

    One problem serves all starts of a race. Several problems on the same rows, in the same whitened coordinates, may
    differ in the weights of the rows, in the covariances of the classes, and in `gamma`: inner folds are problems whose
    held-out rows weigh nothing, and candidates with another ridge are problems with wider covariances
    (`Problem.reweighted` makes both).

    The result of a projection depends on its problem only, bit for bit, not on the rest of the stack nor on its size.
    So starts that have converged may leave the stack, and starts may be divided between processes in any way.

    >>> from sklearn.datasets import load_iris
    >>> from melm.data.labeled import Labeled
    >>> prepared = Labeled.check(*load_iris(return_X_y=True)).prepare("ledoit_wolf")
    >>> stack = DivergenceStack([prepared], n_components=2)
    >>> V = np.stack([np.eye(4)[:, :2], np.eye(4)[:, 1:3], np.eye(4)[:, 2:]])
    >>> divergences, gradients = stack.values_and_gradients(V)
    >>> divergences.shape, gradients.shape
    ((3,), (3, 4, 2))
    """

    def __init__(self, problems: Sequence[PreparedRows], n_components: int, gammas: Sequence[float] = (1.0,)) -> None:
        """`gammas` of the problems, or one for all."""
        rows, whitening = problems[0].rows, problems[0].whitening
        self._counts = rows.counts
        # A whitened copy, so that an evaluation needs only two products with the rows. They are few, so it is small.
        self._rows = rows.together.astype(np.float64, copy=False) @ whitening.to_features  # (n, r)
        self._shares = np.stack([np.concatenate(prepared.rows.shares) for prepared in problems])
        smoothing = []
        for index, prepared in enumerate(problems):
            gamma = gammas[index % len(gammas)]
            widths = np.array([silverman(size, n_components, gamma) for size in prepared.rows.sizes])
            smoothing.append(widths[:, None, None] ** 2 * prepared.whitening.covariances)
        self._smoothing = np.stack(smoothing)  # (problems, C, r, r)
        self._first, self._second = np.array(pairs_of_classes(len(self._counts))).T

    def values_and_gradients(self, V: Array, problems: Sequence[int] | None = None) -> tuple[Array, Array]:
        """D (s,) and its derivatives (s, r, k) of projections V (s, r, k) of whitened coordinates.

        `problems` says which problem each of them belongs to; the first by default.
        """
        n_stacked, n_dimensions, n_components = V.shape
        chosen = np.zeros(n_stacked, dtype=np.intp) if problems is None else np.asarray(problems, dtype=np.intp)
        Z = V.swapaxes(1, 2) @ self._rows.T  # (s, k, n)
        smoothing = self._smoothing if len(self._smoothing) == 1 else self._smoothing[chosen]
        smoothed = (smoothing.reshape(len(smoothing), -1, n_dimensions) @ V).reshape(
            n_stacked, -1, n_dimensions, n_components
        )  # (s, C, r, k)
        sums = PairSums(Z, V.swapaxes(1, 2)[:, None] @ smoothed, self._shares[chosen], self._counts)
        divergences, slopes = self._soft_minimum(sums.log_values)
        through_rows, through_smoothing = sums.gradient(slopes)
        gradients = (through_rows @ self._rows).swapaxes(1, 2)
        by_class = smoothed @ through_smoothing
        for code in range(len(self._counts)):
            gradients += 2 * by_class[:, code]
        return divergences, gradients

    def _soft_minimum(self, logs: Array) -> tuple[Array, Array]:
        """The divergences (s,) from the log potentials (s, P), and their derivatives in these."""
        itself = self._first == self._second
        a, b = self._first[~itself], self._second[~itself]
        own = logs[:, itself]
        similarities = logs[:, ~itself] - (own[:, a] + own[:, b]) / 2
        total = np.logaddexp.reduce(similarities, axis=1, keepdims=True)
        weights = np.exp(similarities - total)
        slopes = np.empty_like(logs)
        slopes[:, ~itself] = -2 * weights
        of_class = np.zeros_like(own)
        for place, pair in enumerate(zip(a, b, strict=True)):
            for code in pair:
                of_class[:, code] += weights[:, place]
        slopes[:, itself] = of_class
        return -2 * (total[:, 0] - np.log(len(a))), slopes
