"""The types of arrays, in one place, and that of what tells long work to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
AnyArray: TypeAlias = npt.NDArray[Any]
Matrix: TypeAlias = Any  # rows of features: a dense array, or a sparse one in CSR form
ShouldStop: TypeAlias = Callable[[], bool]  # asked now and then by what takes long


def never() -> bool:
    """Go on to the end."""
    return False
