"""Idempotency: a request that is repeated with the same key is executed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from worker.store import Store
from worker.store.records import Idempotency

T = TypeVar("T")


def once(
    store: Store, tenant: str, idempotency: Idempotency | None, *, find: Callable[[str], T], make: Callable[[], T]
) -> T:
    """The result of `make`; or, if an earlier request with the key has made it, the result of `find` with its id."""
    if idempotency is None:
        return make()
    earlier = store.requests.begin(tenant, idempotency)
    if earlier is not None:
        return find(earlier)
    try:
        return make()
    except BaseException:
        store.requests.abandon(tenant, idempotency)
        raise
