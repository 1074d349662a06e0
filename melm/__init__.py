"""Maximum Entropy Linear Manifold: discriminative linear projections of labelled data.

The names below are loaded when they are first asked for, so that `melm.remote` does not wait for scikit-learn.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from melm.covariance import CovarianceKind as Covariance
    from melm.divergence import Divergence, divergence
    from melm.estimator import MELM

__all__ = ["MELM", "Covariance", "Divergence", "divergence"]

_HOMES = {
    "MELM": ("melm.estimator", "MELM"),
    "Covariance": ("melm.covariance", "CovarianceKind"),
    "Divergence": ("melm.divergence", "Divergence"),
    "divergence": ("melm.divergence", "divergence"),
}


class _Package(ModuleType):
    """This package: a name is looked up where it is at home."""

    def __getattr__(self, name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _HOMES[name]
        value = getattr(import_module(module), attribute)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        # Importing melm.divergence would put the module in the place of the function of the same name.
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
