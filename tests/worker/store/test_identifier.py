import re
import time

from worker.store.identifier import new_id


def test_identifiers_sort_by_time() -> None:
    ids = []
    for _ in range(5):
        ids.append(new_id("fit"))
        time.sleep(0.002)
    assert ids == sorted(ids)
    assert all(re.fullmatch("fit_[0-9A-HJKMNP-TV-Z]{26}", id) for id in ids)


def test_identifiers_do_not_repeat() -> None:
    assert len({new_id("x") for _ in range(10_000)}) == 10_000
