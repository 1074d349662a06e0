"""Units of work as a worker sees them: claim, renew, complete, release, plan, and finding what was lost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from melm.plan import Stage
from worker.engine.codec import decode, encode
from worker.engine.scripts import script
from worker.engine.upgrade import STEPS, upgraded
from worker.store.connection import Connection, milliseconds, timestamp
from worker.store.errors import NewerLibrary, UnknownSchema
from worker.store.keys import ACTIVE, EARLIER_TENANTS, LEASES, key, member
from worker.store.records import SCHEMA_VERSION, FitError, Lease, ModelRecord, Status

PLAN = "@plan"  # the unit that plans a fit's next stage


class LeaseLost(Exception):
    """The unit is no longer this process's: canceled, taken over, or over."""


@dataclass(frozen=True)
class Claim:
    """A unit in this process's hands, and how many messages are to be sent for others that became ready."""

    lease: Lease | None
    arguments: dict[str, Any]
    n_messages: int

    @property
    def is_plan(self) -> bool:
        """Whether the unit is to plan the next stage."""
        return self.lease is not None and self.lease.unit == PLAN


@dataclass(frozen=True)
class Preview:
    """Rows where a unit has placed them, as JSON. It is better than another on fewer rows, or with less divergence."""

    n_rows: int  # on which the divergence was measured
    divergence: float
    content: bytes


@dataclass(frozen=True)
class UnitReport:
    """What a unit leaves behind. `start` is set where it finished a start."""

    result: dict[str, Any] | None
    failure: FitError | None = None
    start: int | None = None
    divergence: float | None = None
    seconds: float = 0.0
    preview: Preview | None = None


class Units:
    """The units of all fits. Each call that changes something is one script."""

    def __init__(self, connection: Connection, library_version: str) -> None:
        self._connection = connection
        self._library_version = library_version

    def claim(self, tenant: str, fit_id: str, process: str) -> Claim:
        """Take a unit of the fit that a message stands for. No lease in the answer: there is nothing to do."""
        arguments = {
            **self._arguments(fit_id, process),
            "fresh": True,
            "schema_version": SCHEMA_VERSION,
            "upgradable": sorted(STEPS),
            "library_version": self._library_version,
        }
        answer = self._connection.run(script("claim"), tenant, arguments)
        if answer[0] == "older":
            self._upgrade(tenant, fit_id)
            answer = self._connection.run(script("claim"), tenant, arguments)
        if answer[0] == "unknown":
            raise UnknownSchema("fit", fit_id, answer[1])
        if answer[0] == "newer":
            raise NewerLibrary(fit_id, answer[1].decode())
        return self._claim(tenant, fit_id, answer)

    def _upgrade(self, tenant: str, fit_id: str) -> None:
        """Bring a fit of an earlier version to the present one; only what the steps change is written."""
        stored = self._connection.call("HGETALL", key(tenant, "fit", fit_id, "meta"))
        before = {name.decode(): value.decode() for name, value in stored.items()}
        after = upgraded(fit_id, before)
        arguments = {
            "fit": fit_id,
            "from": before["schema_version"],
            "changed": {name: value for name, value in after.items() if before.get(name) != value},
            "removed": sorted(before.keys() - after.keys()),
        }
        self._connection.run(script("upgrade"), tenant, arguments)

    def complete(self, lease: Lease, process: str, report: UnitReport, *, carry_on: bool) -> Claim:
        """Store what a unit gave, and take the next one: when asked to carry on, or when the stage is over."""
        seen: dict[str, Any] = {
            "start": report.start,
            "divergence": report.divergence,
            "seconds": round(report.seconds, 6),
        }
        if report.failure is not None:
            seen["error"] = report.failure.message
        arguments = {
            **self._arguments(lease.fit_id, process),
            "fresh": False,
            "unit": lease.unit,
            "fence": lease.fence,
            "failure": None if report.failure is None else report.failure.model_dump_json(),
            "start": report.start,
            "divergence": None if report.divergence is None else repr(report.divergence),
            "seconds": report.seconds,
            "event": json.dumps(seen),
            "carry_on": carry_on,
        }
        values = [b"" if report.result is None else encode(report.result)]
        if report.preview is not None:
            arguments["preview"] = {"n_rows": report.preview.n_rows, "divergence": report.preview.divergence}
            values.append(report.preview.content)
        answer = self._connection.run(script("complete"), lease.tenant, arguments, *values)
        return self._claim(lease.tenant, lease.fit_id, answer)

    def fail(self, lease: Lease, failure: FitError) -> int:
        """Give a unit up for a process that no longer can; answers how many messages to send.

        A fit whose planning is given up has failed: another try would come no further.
        """
        if lease.unit == PLAN:
            self.finish(lease, Status.FAILED, failure=failure)
            return 0
        return self.complete(lease, "", UnitReport(None, failure), carry_on=False).n_messages

    def open_stage(
        self, lease: Lease, process: str, stage: Stage, units: Sequence[tuple[str, dict[str, Any]]]
    ) -> Claim | None:
        """Put up the units of the next stage that have no result, by name and arguments.

        None: the fit is cut short, and gets no more units.
        """
        arguments = {
            **self._arguments(lease.fit_id, process),
            "fresh": False,
            "fence": lease.fence,
            "stage": stage.name,
            "begins": stage.begins,
            "ends": stage.ends,
            "n_units": len(stage.units),
            "names": [name for name, _ in units],
        }
        values = [encode(unit) for _, unit in units]
        answer = self._connection.run(script("open_stage"), lease.tenant, arguments, *values)
        return None if answer[0] == "cut" else self._claim(lease.tenant, lease.fit_id, answer)

    def publish(self, lease: Lease, model: ModelRecord, card: dict[str, Any], file: bytes, *, ends: bool) -> None:
        """Store a fit's model, or the model with its evidence. Where nothing follows, the fit ends in the same step."""
        arguments = {
            "fit": lease.fit_id,
            "fence": lease.fence,
            "model_id": model.id,
            "model_expires_at": None if model.expires_at is None else timestamp(model.expires_at),
            "ends": ends,
        }
        values = (model.model_dump_json().encode(), json.dumps(card).encode(), file)
        answer = self._connection.run(script("publish"), lease.tenant, arguments, *values)
        if answer[0] == "refused":
            raise LeaseLost(lease.unit)

    def finish(self, lease: Lease, status: Status, *, failure: FitError | None = None) -> None:
        """End a fit that cannot go on."""
        arguments = {
            "fit": lease.fit_id,
            "unit": lease.unit,
            "fence": lease.fence,
            "status": status,
            "failure": None if failure is None else failure.model_dump_json(),
        }
        answer = self._connection.run(script("finish"), lease.tenant, arguments)
        if answer[0] == "refused":
            raise LeaseLost(lease.unit)

    def results(self, tenant: str, fit_id: str, names: Sequence[str]) -> dict[str, dict[str, Any] | None]:
        """What the named units gave, None for those given up. Units that have not ended are missing."""
        if not names:
            return {}
        commands = [("HMGET", key(tenant, "fit", fit_id, noun), *names) for noun in ("results", "errors")]
        values, errors = self._connection.call_many(commands)
        return {
            name: None if value is None else decode(value)
            for name, value, error in zip(names, values, errors, strict=True)
            if value is not None or error is not None
        }

    def first_error(self, tenant: str, fit_id: str) -> FitError | None:
        """Why one of the units that were given up gave nothing: the first by name."""
        errors = self._connection.call("HGETALL", key(tenant, "fit", fit_id, "errors"))
        return FitError.model_validate_json(errors[min(errors)]) if errors else None

    def is_held(self, lease: Lease) -> bool:
        """Whether the lease still stands. Only reads."""
        field = member(lease.tenant, lease.fit_id, lease.unit)
        value: bytes | None = self._connection.call("HGET", LEASES, field)
        return value is not None and value.startswith(b"%d " % lease.fence)

    def renew(self, lease: Lease) -> bool:
        """Say that the unit is still in hand. False: it no longer is."""
        arguments = {
            "fit": lease.fit_id,
            "unit": lease.unit,
            "fence": lease.fence,
            "lease_ms": milliseconds(self._connection.settings.lease_seconds),
        }
        return self._connection.run(script("renew"), lease.tenant, arguments) == ["renewed"]

    def release(self, lease: Lease, *, dead: bool) -> int:
        """Take a unit out of a process's hands; answers how many messages to send.

        A process that stops in good order gives it back as if it had never begun; a dead one has used an attempt.
        """
        arguments = {**self._arguments(lease.fit_id, ""), "unit": lease.unit, "fence": lease.fence, "dead": dead}
        return int(self._connection.run(script("release"), lease.tenant, arguments)[-1])

    def leases(self) -> list[tuple[Lease, str]]:
        """All units in hand, and in whose."""
        found = []
        for field, value in self._connection.call("HGETALL", LEASES).items():
            tenant, fit_id, unit = field.decode().split("\n")
            fence, process = value.decode().split(" ", 1)
            found.append((Lease(tenant=tenant, fit_id=fit_id, unit=unit, fence=int(fence)), process))
        return found

    def due(self) -> list[tuple[str, str]]:
        """The fits that need a look, with their tenants."""
        now = timestamp(self._connection.now())
        members = self._connection.call("ZRANGEBYSCORE", ACTIVE, "-inf", now)
        return [(tenant, fit_id) for tenant, fit_id in (each.decode().split("\n") for each in members)]

    def begin_sweep(self) -> bool:
        """Whether it is this caller's turn to look for what is overdue."""
        sweep_ms = milliseconds(self._connection.settings.sweep_seconds * 0.9)
        return self._connection.run(script("sweep"), "", {"sweep_ms": sweep_ms}) == ["begun"]

    def adopt_earlier(self) -> None:
        """Move the indexes that 0.1 kept by tenant to those of all tenants."""
        for tenant in self._connection.call("SMEMBERS", EARLIER_TENANTS):
            self._connection.run(script("adopt"), tenant.decode(), {})

    def redispatch(self, tenant: str, fit_id: str, *, judge_leases: bool) -> int:
        """Put overdue units of a fit up again; answers how many messages to send."""
        arguments = {**self._arguments(fit_id, ""), "judge_leases": judge_leases}
        return int(self._connection.run(script("redispatch"), tenant, arguments)[-1])

    def _arguments(self, fit_id: str, process: str) -> dict[str, Any]:
        settings = self._connection.settings
        return {
            "fit": fit_id,
            "process": process,
            "window": settings.window,
            "max_attempts": settings.max_attempts,
            "lease_ms": milliseconds(settings.lease_seconds),
            "grace_ms": milliseconds(settings.grace_seconds),
        }

    def _claim(self, tenant: str, fit_id: str, answer: list[Any]) -> Claim:
        if answer[0] == "refused":
            raise LeaseLost(fit_id)
        if answer[0] == "nothing":
            return Claim(None, {}, answer[-1])
        _, unit, fence, arguments, n_messages = answer
        lease = Lease(tenant=tenant, fit_id=fit_id, unit=unit.decode(), fence=fence)
        return Claim(lease, decode(arguments) if arguments else {}, n_messages)
