"""Maximum Entropy Linear Manifold: discriminative linear projections of labeled data.

The names below are imported on first access, so that importing `melm.remote` does not import scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from melm.data.covariance import CovarianceKind as Covariance
    from melm.estimator import MELM
    from melm.model import Model
    from melm.model.display import ProjectionDisplay, plot
    from melm.objective.divergence import Divergence, divergence

    __version__: str

__all__ = ["MELM", "Covariance", "Divergence", "Model", "ProjectionDisplay", "__version__", "divergence", "plot"]

_HOMES = {
    "MELM": ("melm.estimator", "MELM"),
    "Covariance": ("melm.data.covariance", "CovarianceKind"),
    "Divergence": ("melm.objective.divergence", "Divergence"),
    "Model": ("melm.model", "Model"),
    "ProjectionDisplay": ("melm.model.display", "ProjectionDisplay"),
    "plot": ("melm.model.display", "plot"),
    "divergence": ("melm.objective.divergence", "divergence"),
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("melm")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)
