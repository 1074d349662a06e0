"""The store: datasets, models, aliases and requests in Redis. `keys` documents all Redis keys.

`Store` is loaded when it is first asked for: the command line reads tables without a client of Redis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worker.store.store import Store

__all__ = ["Store"]


def __getattr__(name: str) -> Any:
    if name != "Store":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from worker.store.store import Store

    return Store
