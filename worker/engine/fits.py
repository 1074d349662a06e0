"""Fits as their owner sees them: submit, get, list, cancel, retry, events."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from worker.engine.scripts import limits, script
from worker.store.connection import StoreConnection, from_timestamp, milliseconds
from worker.store.errors import Conflict, IdempotencyMismatch
from worker.store.identifier import new_id
from worker.store.keys import key
from worker.store.quotas import Quotas
from worker.store.records import (
    Event,
    FitError,
    FitRecord,
    FitSubmission,
    Idempotency,
    Page,
    Status,
    SubmitOutcome,
)

FIT_VERSION = 2  # of stored fits; that of 0.1 was 1, and its active fits are planned again


class Fits:
    """The fits of all tenants. After `submit`, `retry` and `cancel` the caller wakes workers by a message."""

    def __init__(self, connection: StoreConnection, library_version: str) -> None:
        self._connection = connection
        self._quotas = Quotas(connection)
        self._library_version = library_version

    def submit(
        self, tenant: str, submission: FitSubmission, *, idempotency: Idempotency | None = None
    ) -> tuple[FitRecord, SubmitOutcome]:
        """Store a fit, or find an equal one or that of an earlier request with the same idempotency key."""
        self._connection.refuse_when_full()
        settings = self._connection.settings
        meta = {
            "schema_version": str(FIT_VERSION),
            "dataset_id": submission.dataset_id,
            "dataset_hash": submission.dataset_hash,
            "method": submission.method,
            "params": json.dumps(submission.params),
            "validation": json.dumps(submission.validation),
            "library_version": self._library_version,
            "metadata": json.dumps(submission.metadata),
            "attempts": "1",
            "equal_key": equal_key(submission, self._library_version),
        }
        if submission.name is not None:
            meta["name"] = submission.name
        if submission.permute_labels is not None:
            meta["permute_labels"] = str(submission.permute_labels)
        if submission.n_starts is not None:
            meta["n_starts"] = str(submission.n_starts)
        if submission.n_units is not None:
            meta["estimated_units"] = str(submission.n_units)
        if submission.estimated_seconds is not None:
            meta["estimated_seconds"] = f"{submission.estimated_seconds:.3g}"
        if submission.time_budget_seconds is not None:
            meta["time_budget_ms"] = str(milliseconds(submission.time_budget_seconds))
        if settings.fit_lifetime_seconds:
            meta["lifetime_ms"] = str(milliseconds(settings.fit_lifetime_seconds))
        arguments = {
            "fit": new_id("fit"),
            "meta": meta,
            "force": submission.force,
            **limits(settings),
            **self._quotas.arguments(),
            **self._connection.idempotency_arguments(idempotency),
        }
        answer, *rest = self._connection.run(script("submit"), tenant, arguments)
        if answer == "mismatch":
            raise IdempotencyMismatch("This idempotency key was used with another body.")
        if answer == "no dataset":
            self._connection.raise_missing("dataset", tenant, submission.dataset_id)
        if answer == "over quota":
            self._quotas.refuse(rest)
        id = rest[0].decode()
        if answer == "created":
            return fit_record(id, dict(zip(rest[1][::2], rest[1][1::2], strict=True))), SubmitOutcome.CREATED
        return self.get(tenant, id), SubmitOutcome(answer)

    def get(self, tenant: str, id: str) -> FitRecord:
        """A fit and its current state."""
        values = self._connection.call("HGETALL", key(tenant, "fit", id, "meta"))
        if not values:
            self._connection.raise_missing("fit", tenant, id)
        return fit_record(id, values)

    def page(
        self,
        tenant: str,
        *,
        status: Status | None = None,
        name: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page[FitRecord]:
        """A page of fits, newest first. A page that is filtered by name and status may not be full."""
        index = key(tenant, "fits")
        if name is not None:
            index = key(tenant, "fits", "name", name)
        elif status is not None:
            index = key(tenant, "fits", "status", status)
        ids = self._connection.page_ids(index, limit, cursor)
        values = self._connection.call_many([("HGETALL", key(tenant, "fit", id, "meta")) for id in ids[:limit]])
        records = [fit_record(id, value) for id, value in zip(ids, values, strict=False) if value]
        listed = [record for record in records if record.permute_labels is None]
        matching = [record for record in listed if status is None or record.status is status]
        return Page(data=matching, next_cursor=ids[limit - 1] if len(ids) > limit else None)

    def cancel(self, tenant: str, id: str, *, keep_best: bool = False) -> tuple[FitRecord, bool]:
        """End a fit early. Also returns False if it had already ended.

        Without `keep_best`, or if no start is done, it is canceled at once; otherwise it soon ends with the best start.
        """
        arguments = {"fit": id, "keep_best": keep_best, **limits(self._connection.settings)}
        (answer,) = self._connection.run(script("cancel"), tenant, arguments)
        if answer == "missing":
            self._connection.raise_missing("fit", tenant, id)
        return self.get(tenant, id), answer == "canceled"

    def retry(self, tenant: str, id: str) -> FitRecord:
        """Queue a failed or canceled fit again; its results are kept."""
        self._connection.refuse_when_full()
        settings = self._connection.settings
        arguments = {
            "fit": id,
            **limits(settings),
            **self._quotas.arguments(),
        }
        answer, *rest = self._connection.run(script("retry"), tenant, arguments)
        if answer == "missing":
            self._connection.raise_missing("fit", tenant, id)
        if answer == "conflict":
            raise Conflict(f"The fit {id!r} is {rest[0].decode()}: only a failed or canceled one can be retried.")
        if answer == "no dataset":
            self._connection.raise_missing("dataset", tenant, rest[0].decode())
        if answer == "over quota":
            self._quotas.refuse(rest)
        return self.get(tenant, id)

    def preview(self, tenant: str, id: str) -> bytes | None:
        """Rows in the projection of the best start so far, as JSON; None before there is one and after the end."""
        commands = [("EXISTS", key(tenant, "fit", id, "meta")), ("HGET", key(tenant, "fit", id, "preview"), "rows")]
        exists, rows = self._connection.call_many(commands)
        if not exists:
            self._connection.raise_missing("fit", tenant, id)
        found: bytes | None = rows
        return found

    def events(self, tenant: str, id: str, *, after: str = "0", limit: int = 100) -> list[Event]:
        """The events of a fit after the one with the given id."""
        commands = [
            ("EXISTS", key(tenant, "fit", id, "meta")),
            ("XRANGE", key(tenant, "fit", id, "events"), f"({after}", "+", "COUNT", limit),
        ]
        exists, entries = self._connection.call_many(commands)
        if not exists:
            self._connection.raise_missing("fit", tenant, id)
        return parse_events(entries)


def equal_key(submission: FitSubmission, library_version: str) -> str:
    """A hash of everything that determines the model and its evidence. Fits with equal keys are equal."""
    parts: list[object] = [
        submission.dataset_hash,
        submission.method,
        submission.params,
        submission.validation,
        library_version,
    ]
    if submission.permute_labels is not None:
        parts.append(submission.permute_labels)
    if submission.info_hash is not None:
        parts.append(submission.info_hash)
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def fit_record(id: str, values: Mapping[bytes, bytes]) -> FitRecord:
    """The record of a fit from its stored fields."""
    text = {name.decode(): value.decode() for name, value in values.items()}
    times = {name: from_timestamp(int(float(text[name]))) if name in text else None for name in TIMES}
    return FitRecord.model_validate(
        {
            "id": id,
            "schema_version": text["schema_version"],
            "name": text.get("name"),
            "metadata": json.loads(text["metadata"]),
            "dataset_id": text["dataset_id"],
            "dataset_hash": text["dataset_hash"],
            "method": text["method"],
            "params": json.loads(text["params"]),
            "validation": json.loads(text["validation"]),
            "library_version": text["library_version"],
            "status": text["status"],
            "stage": text.get("stage"),
            "n_starts": text.get("n_starts"),
            "starts_done": text.get("starts_done", 0),
            "best_divergence": text.get("best_divergence"),
            "share_done": text.get("share_done", float(text["status"] == Status.SUCCEEDED)),
            "share_before": text.get("share_before", 0),
            "attempts": text["attempts"],
            "recoveries": text.get("recoveries", 0),
            "cancel": text.get("cancel", ""),
            "error": FitError.model_validate_json(text["error"]) if "error" in text else None,
            "model_id": text.get("model_id"),
            "permute_labels": text.get("permute_labels"),
            "n_units": text.get("estimated_units"),
            "estimated_seconds": text.get("estimated_seconds"),
            **times,
        }
    )


TIMES = ("created_at", "started_at", "ended_at", "expires_at", "deadline")


def parse_events(entries: Sequence[tuple[bytes, Mapping[bytes, bytes]]]) -> list[Event]:
    """Events from the entries of a stream."""
    return [
        Event(
            id=id.decode(),
            type=fields[b"type"].decode(),
            at=from_timestamp(int(id.split(b"-")[0])),
            data=json.loads(fields[b"data"]),
        )
        for id, fields in entries
    ]
