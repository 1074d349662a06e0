from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from melm.plan import Fold, NothingFitted, Plan, Result, Stage, Unit, gather, held_out_rows, run_plan, training_rows


def counting(name: str, n_stages: int) -> Plan[int]:
    total = 0
    for stage in range(n_stages):
        results = yield Stage(f"stage {stage}", [Unit(f"{name} {stage} {i}") for i in range(2)])
        found = [result for result in results if result is not None]
        if not found:
            raise NothingFitted
        total += sum(result["value"] for result in found)
    return total


def ones(stage: Stage) -> Sequence[Result | None]:
    return [{"value": 1} for _ in stage.units]


def test_a_plan_is_driven_to_its_end() -> None:
    assert run_plan(counting("a", 3), ones) == 6


def test_gathered_plans_run_side_by_side() -> None:
    stages: list[list[str]] = []

    def run(stage: Stage) -> Sequence[Result | None]:
        stages.append([unit.name for unit in stage.units])
        return ones(stage)

    assert run_plan(gather([counting("a", 1), counting("b", 3), counting("c", 0)]), run) == [2, 6, 0]
    assert stages == [["a 0 0", "a 0 1", "b 0 0", "b 0 1"], ["b 1 0", "b 1 1"], ["b 2 0", "b 2 1"]]


def test_a_gathered_plan_that_fits_nothing_gives_none() -> None:
    def fail_a(stage: Stage) -> Sequence[Result | None]:
        return [None if unit.name.startswith("a") else {"value": 1} for unit in stage.units]

    assert run_plan(gather([counting("a", 2), counting("b", 2)]), fail_a) == [None, 4]


def test_replaying_stored_results_gives_the_same_plan() -> None:
    """What workers do: run the generator anew, feeding what earlier stages gave."""
    plan = gather([counting("a", 2), counting("b", 3)])
    stored: list[Sequence[Result | None]] = []
    stage = next(plan)
    while True:
        stored.append(ones(stage))
        replayed = gather([counting("a", 2), counting("b", 3)])
        next(replayed)
        for results in stored[:-1]:
            replayed.send(results)
        if len(stored) == 3:
            break
        stage = plan.send(stored[-1])
        assert replayed.send(stored[-1]) == stage
    with pytest.raises(StopIteration) as end:
        replayed.send(stored[-1])
    assert end.value.value == [4, 6]


def test_folds_nest_and_cover_all_rows_once() -> None:
    y = np.array([0] * 20 + [1] * 10)
    outer = [Fold(i, 5, seed=3) for i in range(5)]
    covered = np.sort(np.concatenate([held_out_rows((fold,), y) for fold in outer]))
    np.testing.assert_array_equal(covered, np.arange(30))
    nested = (outer[2], Fold(1, 4, seed=0))
    train, held_out = training_rows(nested, y), held_out_rows(nested, y)
    assert not set(train) & set(held_out)
    assert set(train) | set(held_out) == set(training_rows((outer[2],), y))
    assert np.bincount(y[held_out]).tolist() == [4, 2]


def test_a_plan_that_fits_nothing_says_so() -> None:
    with pytest.raises(NothingFitted):
        run_plan(counting("a", 1), lambda stage: [None, None])
