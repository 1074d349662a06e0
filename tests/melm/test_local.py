"""A plan run in this process: units that are alike in one call, and what is told of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from melm import local
from melm.local import Progress, Task, run_locally
from melm.plan import Plan, Result, Stage, Unit


def plan(keys: Sequence[str | None]) -> Plan[list[Result | None]]:
    units = [Unit(f"{i}", {"i": i}, (), i, None if key is None else (key,)) for i, key in enumerate(keys)]
    return list((yield Stage("s", units)))


def run(
    keys: Sequence[str | None], stop_at: int | None = None
) -> tuple[list[str], list[Result | None], list[Progress]]:
    calls: list[str] = []
    told: list[Progress] = []

    def task(units: Sequence[Unit]) -> Task:
        calls.append("".join(unit.name for unit in units))
        return lambda: [{"divergence": float(unit.name), "stopping_reason": "converged"} for unit in units]

    def callback(progress: Progress) -> bool:
        told.append(progress)
        return progress.units_done == stop_at

    return calls, run_locally(plan(keys), task, None, callback), told


def test_units_that_are_alike_run_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, results, told = run(["a", "a", "b", None, None, "b", "b"])
    assert calls == ["01", "2", "3", "4", "56"]
    assert [result and result["divergence"] for result in results] == [0, 1, 2, 3, 4, 5, 6]
    assert [(progress.units_done, progress.best_divergence) for progress in told] == [(i + 1, i) for i in range(7)]
    monkeypatch.setattr(local, "MOST_TOGETHER", 2)
    assert run(["a"] * 5)[0] == ["01", "23", "4"]


def test_what_was_told_of_is_kept_when_the_callback_ends_the_run() -> None:
    calls, results, told = run(["a", "a", "a", "b"], stop_at=2)
    assert calls == ["012"]
    assert [result and result["divergence"] for result in results] == [0, 1, None, None]
    assert len(told) == 2
