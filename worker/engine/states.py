"""The state transitions of a fit. The engine's scripts get this table, and refuse all other transitions."""

from __future__ import annotations

from worker.store.records import Status

MOVES: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.RUNNING, Status.CANCELED, Status.FAILED}),
    Status.RUNNING: frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELED}),
    Status.SUCCEEDED: frozenset(),
    Status.FAILED: frozenset({Status.QUEUED}),
    Status.CANCELED: frozenset({Status.QUEUED}),
}
