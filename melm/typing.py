"""Type aliases: arrays, and the function by which long work learns that it should stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
AnyArray: TypeAlias = npt.NDArray[Any]
Matrix: TypeAlias = Any  # rows of features: a dense array, or a sparse one in CSR form
ShouldStop: TypeAlias = Callable[[], bool]  # polled by long-running work


def never() -> bool:
    """Never ask to stop."""
    return False
