"""The choice among candidates, by the log posteriors of held-out rows.

With a few more or fewer rows, another candidate would often have been chosen. So the choice is repeated many times with
random weights of the held-out rows (the Bayesian bootstrap), and the chosen projections are averaged, weighted by how
often they were chosen: the leading eigenvectors of the mean of the projectors onto their subspaces.

If even the best candidate may be guessing, scores cannot decide. Then the simplest candidate is taken, which shows the
least spurious structure.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from melm.data.projection import orthonormalize
from melm.typing import Array

DRAWS = 200
CERTAIN = 0.95  # of the draws in which the best candidate does better than guessing


def balanced_scores(log_posteriors: Array, codes: npt.NDArray[np.intp], weights: Array | None = None) -> Array:
    """The mean over classes of the mean log posterior of their rows, for each candidate: (n, m) to (m,)."""
    counts = np.ones(len(codes)) if weights is None else weights
    members = [codes == code for code in np.unique(codes)]
    by_class = [counts[own] @ log_posteriors[own] / counts[own].sum() for own in members]
    scores: Array = np.mean(by_class, axis=0)
    return scores


def win_shares(log_posteriors: Array, codes: npt.NDArray[np.intp], seed: int, weights: Array | None = None) -> Array:
    """How often each candidate has the best balanced score, over random weights of the rows: (n, m) to (m,).

    Candidates without a score are NaN, and never win.
    """
    scores = _drawn_scores(log_posteriors, codes, seed, weights)
    winners = np.where(np.isnan(scores), -np.inf, scores).argmax(axis=1)
    shares: Array = np.bincount(winners, minlength=scores.shape[1]) / DRAWS
    return shares


def is_guessing(log_posteriors: Array, codes: npt.NDArray[np.intp], seed: int, weights: Array | None = None) -> bool:
    """Whether a candidate with these log posteriors (n,) may do no better than equal probabilities."""
    better = _drawn_scores(log_posteriors[:, None], codes, seed, weights) > -np.log(len(np.unique(codes)))
    return bool(better.mean() < CERTAIN)


def _drawn_scores(log_posteriors: Array, codes: npt.NDArray[np.intp], seed: int, weights: Array | None) -> Array:
    """Balanced scores over random weights of the rows: (DRAWS, m)."""
    generator = np.random.default_rng(seed)
    scores = np.zeros((DRAWS, log_posteriors.shape[1]))
    for code in np.unique(codes):
        rows = log_posteriors[codes == code]
        drawn = generator.dirichlet(np.ones(len(rows)), DRAWS)
        if weights is not None:
            drawn = drawn * weights[codes == code]
            drawn /= drawn.sum(axis=1, keepdims=True)
        scores += drawn @ rows / len(np.unique(codes))
    return scores


def average(projections: list[Array], shares: Array) -> Array:
    """The subspace (r, k) closest to those of the projections, averaged by shares, in whitened coordinates."""
    bases = [orthonormalize(V) for V in projections]
    if len(bases) == 1:
        return bases[0]
    projector = sum(share * basis @ basis.T for share, basis in zip(shares, bases, strict=True))
    leading: Array = np.linalg.eigh(projector)[1][:, ::-1][:, : bases[0].shape[1]]
    return leading
