"""The Python client of the service: `RemoteMELM` is an estimator that is fitted there, `Client` is for everything else.

Requires httpx2 and NumPy; only `RemoteMELM` imports scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from melm.extras import check_extra

check_extra("client", "melm.remote")  # before the imports below, whose errors would not mention the extra

# ruff: noqa: E402
from melm.remote.client import Client
from melm.remote.errors import (
    Conflict,
    FieldError,
    FitCanceled,
    FitEnded,
    FitFailed,
    Forbidden,
    Gone,
    Interrupted,
    Invalid,
    Malformed,
    NotFound,
    PreconditionFailed,
    RemoteError,
    ResponseError,
    RowsWarning,
    TimedOut,
    TooLarge,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
    Unreachable,
)
from melm.remote.fits import Fit
from melm.remote.models import Model
from melm.remote.records import Dataset, Event, FitProgress, FitRecord, MethodRecord, ModelRecord, Reading

if TYPE_CHECKING:
    from melm.remote.estimator import RemoteMELM

__all__ = [
    "Client",
    "Conflict",
    "Dataset",
    "Event",
    "FieldError",
    "Fit",
    "FitCanceled",
    "FitEnded",
    "FitFailed",
    "FitProgress",
    "FitRecord",
    "Forbidden",
    "Gone",
    "Interrupted",
    "Invalid",
    "Malformed",
    "MethodRecord",
    "Model",
    "ModelRecord",
    "NotFound",
    "PreconditionFailed",
    "Reading",
    "RemoteError",
    "RemoteMELM",
    "ResponseError",
    "RowsWarning",
    "TimedOut",
    "TooLarge",
    "TooManyRequests",
    "Unauthenticated",
    "Unavailable",
    "Unreachable",
]


def __getattr__(name: str) -> Any:
    if name != "RemoteMELM":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from melm.remote.estimator import RemoteMELM

    return RemoteMELM
