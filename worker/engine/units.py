"""The units of work: storing the outcome of a lease, and taking the next one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, TypeAlias

from melm.plan import Stage
from worker.engine.codec import decode, encode
from worker.engine.fits import FIT_VERSION
from worker.engine.scripts import limits, script
from worker.store.connection import StoreConnection, from_timestamp, milliseconds, timestamp
from worker.store.keys import EARLIER_TENANTS, LEASES, key
from worker.store.records import FitError, Lease, ModelRecord, Status

PLAN = "@plan"  # the unit that plans a fit's next stage
OLDEST_FIT_VERSION = 1


@dataclass(frozen=True)
class Claim:
    """A lease with the data that its process needs: arguments by unit, or the state of the fit for planning."""

    lease: Lease
    units: dict[str, dict[str, Any]]
    at: datetime
    model_id: str | None
    is_cut: bool  # whether the fit is to end with the results so far

    @property
    def is_plan(self) -> bool:
        """Whether the unit is to plan the next stage."""
        return self.lease.unit == PLAN


@dataclass(frozen=True)
class Assignment:
    """The reply of the store to a process: a lease, if there is work, and how many other processes to wake."""

    claim: Claim | None
    n_messages: int
    unreadable: list[str]  # fits of versions that this process cannot read


@dataclass(frozen=True)
class Preview:
    """Projected rows of a unit, as JSON. The best preview has the most rows, and of these the largest divergence."""

    n_rows: int  # on which the divergence was measured
    divergence: float
    content: bytes


@dataclass(frozen=True)
class UnitReport:
    """The result or failure of one unit. `start` is set if it has finished a start."""

    name: str
    result: dict[str, Any] | None
    failure: FitError | None = None
    start: int | None = None
    divergence: float | None = None
    seconds: float = 0.0
    preview: Preview | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the script."""
        seen: dict[str, Any] = {"start": self.start, "divergence": self.divergence, "seconds": round(self.seconds, 6)}
        if self.failure is not None:
            seen["error"] = self.failure.message
        preview = self.preview and {"n_rows": self.preview.n_rows, "divergence": self.preview.divergence}
        return {
            "name": self.name,
            "failure": None if self.failure is None else self.failure.model_dump_json(),
            "start": self.start,
            "divergence": None if self.divergence is None else repr(self.divergence),
            "seconds": self.seconds,
            "event": json.dumps(seen),
            "preview": preview,
        }


@dataclass(frozen=True)
class Done:
    """The units of a lease have ended, with results or failures."""

    kind: ClassVar = "done"
    reports: Sequence[UnitReport]

    def arguments(self) -> dict[str, Any]:
        """The arguments of the script."""
        return {"reports": [report.arguments for report in self.reports]}

    def values(self) -> Iterator[bytes]:
        """The binary values: result and preview of each unit."""
        for report in self.reports:
            yield b"" if report.result is None else encode(report.result)
            yield b"" if report.preview is None else report.preview.content


@dataclass(frozen=True)
class Opened:
    """The next stage, and the arguments of its units without a result, by name, grouped by lease.

    A large stage is opened in parts: when one is done, the plan runs again and opens the next.
    """

    kind: ClassVar = "opened"
    stage: Stage
    leases: Sequence[Sequence[tuple[str, dict[str, Any]]]]
    n_done: int = 0  # units that have a result

    def arguments(self) -> dict[str, Any]:
        """The arguments of the script."""
        return {
            "stage": self.stage.name,
            "begins": self.stage.begins,
            "ends": self.stage.ends,
            "n_units": len(self.stage.units),
            "n_done": self.n_done,
            "names": [name for units in self.leases for name, _ in units],
            "leases": ["\t".join(name for name, _ in units) for units in self.leases],
        }

    def values(self) -> Iterator[bytes]:
        """The arguments of every unit."""
        return (encode(arguments) for units in self.leases for _, arguments in units)


@dataclass(frozen=True)
class Published:
    """The model, or the model with its evidence. If `ends` is true, the fit ends in the same step."""

    kind: ClassVar = "published"
    model: ModelRecord
    card: dict[str, Any]
    file: bytes
    ends: bool

    def arguments(self) -> dict[str, Any]:
        """The arguments of the script."""
        expires_at = None if self.model.expires_at is None else timestamp(self.model.expires_at)
        return {"model_id": self.model.id, "expires_at": expires_at, "ends": self.ends}

    def values(self) -> Iterator[bytes]:
        """Record, card and file."""
        yield from (self.model.model_dump_json().encode(), json.dumps(self.card).encode(), self.file)


@dataclass(frozen=True)
class Ended:
    """The fit ends without a model, or without evidence for it."""

    kind: ClassVar = "ended"
    status: Status
    failure: FitError | None = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of the script."""
        failure = None if self.failure is None else self.failure.model_dump_json()
        return {"status": self.status, "failure": failure}

    def values(self) -> Iterator[bytes]:
        """None."""
        return iter(())


@dataclass(frozen=True)
class Paused:
    """A unit is paused, so that others can run. It resumes later, in any process, from these arguments."""

    kind: ClassVar = "paused"
    unit: dict[str, Any]

    def arguments(self) -> dict[str, Any]:
        """None."""
        return {}

    def values(self) -> Iterator[bytes]:
        """The arguments to resume the unit from."""
        yield encode(self.unit)


@dataclass(frozen=True)
class Released:
    """The process gives its unit back: because it died, which uses up an attempt, or because it stops."""

    dead: bool

    @property
    def kind(self) -> str:
        """The outcome's name."""
        return "lost" if self.dead else "released"

    def arguments(self) -> dict[str, Any]:
        """None."""
        return {}

    def values(self) -> Iterator[bytes]:
        """None."""
        return iter(())


Outcome: TypeAlias = Done | Opened | Published | Ended | Paused | Released


class Units:
    """The units of all fits. Each call that changes something is one script."""

    def __init__(self, connection: StoreConnection, library_version: str) -> None:
        self._connection = connection
        self._library_version = library_version

    def next(
        self,
        process: str,
        lease: Lease | None = None,
        outcome: Outcome | None = None,
        *,
        stay: Lease | None = None,
        take: bool = True,
    ) -> Assignment:
        """Store the outcome of a lease, at most once, and take the next lease: from `stay`, if its tenant is next."""
        settings = self._connection.settings
        arguments: dict[str, Any] = {
            **limits(settings),
            "process": process,
            "take": take,
            "stay": None if stay is None else {"tenant": stay.tenant, "fit": stay.fit_id},
            "schema_version": FIT_VERSION,
            "oldest_schema_version": OLDEST_FIT_VERSION,
            "library_version": self._library_version,
            "max_attempts": settings.max_attempts,
            "lease_ms": milliseconds(settings.lease_seconds),
        }
        values: tuple[bytes, ...] = ()
        if lease is not None and outcome is not None:
            arguments["outcome"] = {"kind": outcome.kind, "lease": lease.value, **outcome.arguments()}
            values = tuple(outcome.values())
        reply, *rest = self._connection.run(script("next"), "", arguments, *values)
        told = json.loads(reply)
        claim = _claim(process, told, rest[0]) if rest else None
        return Assignment(claim, told["n_messages"], list(told["skipped"] or ()))

    def settle(self, lease: Lease, outcome: Outcome) -> int:
        """Store the outcome of a lease without taking another; returns how many processes to wake."""
        return self.next(lease.process, lease, outcome, take=False).n_messages

    def give_up(self, lease: Lease, failure: FitError) -> int:
        """Let the units of a lease fail, on behalf of its process; returns how many processes to wake.

        If the lease is for planning, the fit fails, because another attempt would fail as well.
        """
        if lease.unit == PLAN:
            return self.settle(lease, Ended(Status.FAILED, failure))
        return self.settle(lease, Done([UnitReport(name, None, failure) for name in lease.unit.split("\t")]))

    def results(self, tenant: str, fit_id: str) -> dict[str, dict[str, Any] | None]:
        """The results of the units of a fit by name, None for failed units. Units that have not ended are missing."""
        commands = [("HGETALL", key(tenant, "fit", fit_id, noun)) for noun in ("results", "errors")]
        values, errors = self._connection.call_many(commands)
        given_up: dict[str, dict[str, Any] | None] = {name.decode(): None for name in errors}
        return given_up | {name.decode(): decode(value) for name, value in values.items()}

    def first_error(self, tenant: str, fit_id: str) -> FitError | None:
        """The error of the first failed unit, by name."""
        errors = self._connection.call("HGETALL", key(tenant, "fit", fit_id, "errors"))
        return FitError.model_validate_json(errors[min(errors)]) if errors else None

    def is_held(self, lease: Lease) -> bool:
        """Whether the process still holds the lease. Read-only."""
        value: bytes | None = self._connection.call("HGET", LEASES, lease.process)
        return value == lease.value.encode()

    def renew(self, lease: Lease) -> bool:
        """Renew a lease; False if the process no longer holds it."""
        lease_ms = milliseconds(self._connection.settings.lease_seconds)
        arguments = {"process": lease.process, "lease": lease.value, "lease_ms": lease_ms}
        return self._connection.run(script("renew"), "", arguments) == ["renewed"]

    def leases(self) -> list[Lease]:
        """All leases."""
        found = []
        for process, value in self._connection.call("HGETALL", LEASES).items():
            tenant, fit_id, unit, fence = value.decode().split("\n")
            found.append(Lease(tenant=tenant, fit_id=fit_id, unit=unit, fence=int(fence), process=process.decode()))
        return found

    def sweep(self, *, judge_leases: bool) -> int:
        """Recover lost work; returns how many processes to wake."""
        settings = self._connection.settings
        sweep_ms = milliseconds(settings.sweep_seconds * 0.9)
        arguments = {**limits(settings), "judge_leases": judge_leases, "sweep_ms": sweep_ms}
        return int(self._connection.run(script("sweep"), "", arguments)[-1])

    def adopt_earlier(self) -> None:
        """Migrate the indexes per tenant of version 0.1 to those of all tenants."""
        for tenant in self._connection.call("SMEMBERS", EARLIER_TENANTS):
            self._connection.run(script("adopt"), tenant.decode(), limits(self._connection.settings))


def _claim(process: str, told: dict[str, Any], arguments: Sequence[bytes]) -> Claim:
    lease = Lease(tenant=told["tenant"], fit_id=told["fit"], unit=told["unit"], fence=told["fence"], process=process)
    names = [] if lease.unit == PLAN else lease.unit.split("\t")
    units = {name: decode(stored) for name, stored in zip(names, arguments, strict=True)}
    return Claim(lease, units, from_timestamp(told["at"]), told["model_id"] or None, told["cancel"] != "")
