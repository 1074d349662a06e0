"""Maximum Entropy Linear Manifold: discriminative linear projections of labelled data."""

from melm.divergence import Divergence, divergence
from melm.estimator import MELM

__all__ = ["MELM", "Divergence", "divergence"]
