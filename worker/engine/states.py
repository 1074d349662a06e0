"""The legal moves of a fit. The engine's scripts are given this table and refuse all others."""

from __future__ import annotations

from worker.store.records import Status

MOVES: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.RUNNING, Status.CANCELED, Status.FAILED}),
    Status.RUNNING: frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELED}),
    Status.SUCCEEDED: frozenset(),
    Status.FAILED: frozenset({Status.QUEUED}),
    Status.CANCELED: frozenset({Status.QUEUED}),
}
