"""What rows must be like before a model answers for them."""

from __future__ import annotations

import numpy as np
import pytest

from service.errors import Invalid
from service.intake.formats import Matrices
from service.intake.inspection import check_input


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_cell_that_is_not_finite_is_named(value: float, kind: type[np.floating]) -> None:
    X = np.ones((3, 2), kind)
    X[2, 1] = value
    with pytest.raises(Invalid) as caught:
        check_input(Matrices(X), 2, None)
    assert [error.pointer for error in caught.value.errors] == ["/X/2/1"]


def test_numbers_whose_squares_overflow_are_finite_all_the_same() -> None:
    X = np.full((2, 2), 1e300)
    assert check_input(Matrices(X), 2, None) is X
