"""What requests hold together, and when one has to come back later."""

import numpy as np
import pytest

from service.errors import Busy, TooLarge
from service.intake.memory import FREE_BYTES, Memory, belongs_to, hold, hold_unfolded
from tests.service import samples

LIMIT = 100 * FREE_BYTES


def test_what_is_held_is_given_back() -> None:
    memory = Memory(LIMIT)
    for _ in range(3):
        with memory.request():
            hold(LIMIT)


def test_the_next_one_comes_back_later() -> None:
    memory = Memory(LIMIT)
    with memory.request():
        hold(LIMIT // 2)
        with memory.request(), pytest.raises(Busy) as refused:
            hold(LIMIT // 2 + 1)
    assert refused.value.headers["Retry-After"] == "1"


def test_small_requests_are_free() -> None:
    memory = Memory(LIMIT)
    with memory.request():
        hold(LIMIT)
        with memory.request():
            hold(FREE_BYTES)


def test_what_never_fits_is_said_to() -> None:
    with Memory(LIMIT).request():
        hold(LIMIT // 2)
        with pytest.raises(TooLarge):
            hold(LIMIT // 2 + 1)


def test_one_of_several_tenants_has_half() -> None:
    memory = Memory(LIMIT, lambda: True)
    with memory.request():
        belongs_to("mallory")
        hold(LIMIT // 2)
        with memory.request():
            belongs_to("mallory")
            with pytest.raises(Busy):
                hold(FREE_BYTES + 1)
        with memory.request():
            belongs_to("ada")
            hold(LIMIT // 2)


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("application/json", b"[[]" + b",[]" * (LIMIT // 100) + b"]"),
        ("application/x-npz", samples.deflated_npz(X=np.zeros((LIMIT // 8, 1)))),
    ],
)
def test_what_unfolds_is_counted_before(media_type: str, body: bytes) -> None:
    assert len(body) < LIMIT // 20
    with Memory(LIMIT).request(), pytest.raises(TooLarge):
        hold_unfolded(media_type, body)
