from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest

from melm.plan import (
    Bootstrap,
    Fold,
    NothingFitted,
    Plan,
    Result,
    Shuffle,
    Stage,
    Unit,
    gather,
    hold_out,
    resamples_from_json,
    resamples_to_json,
    run_plan,
    select,
)


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
    covered = np.sort(np.concatenate([hold_out((fold,), y).rows for fold in outer]))
    np.testing.assert_array_equal(covered, np.arange(30))
    nested = (outer[2], Fold(1, 4, seed=0))
    train, held_out = select(nested, y).rows, hold_out(nested, y)
    assert not set(train) & set(held_out.rows)
    assert set(train) | set(held_out.rows) == set(select((outer[2],), y).rows)
    assert np.bincount(held_out.codes).tolist() == [4, 2]


def test_groups_are_never_divided() -> None:
    y = np.arange(60) % 2
    groups = np.arange(60) // 4
    for i in range(5):
        fold = (Fold(i, 5, seed=0),)
        assert not set(groups[select(fold, y, groups).rows]) & set(groups[hold_out(fold, y, groups).rows])


def test_a_shuffle_keeps_rows_and_class_sizes_but_not_labels() -> None:
    y = np.array([0] * 20 + [1] * 10)
    shuffled = select((Shuffle(4),), y)
    np.testing.assert_array_equal(shuffled.rows, np.arange(30))
    assert np.bincount(shuffled.codes).tolist() == [20, 10]
    assert (shuffled.codes != y).any()
    inside = select((Shuffle(4), Fold(0, 5, seed=0)), y)
    np.testing.assert_array_equal(inside.codes, shuffled.codes[inside.rows])


def test_a_bootstrap_draws_each_class_with_replacement() -> None:
    y = np.array([0] * 20 + [1] * 10)
    drawn = select((Bootstrap(1),), y)
    assert np.bincount(drawn.codes).tolist() == [20, 10]
    np.testing.assert_array_equal(drawn.codes, y[drawn.rows])
    assert len(set(drawn.rows)) < 30


def test_resamples_survive_json() -> None:
    resamples = (Shuffle(3), Fold(1, 5, 7), Bootstrap(2))
    assert resamples_from_json(json.loads(json.dumps(resamples_to_json(resamples)))) == resamples


def test_a_plan_that_fits_nothing_says_so() -> None:
    with pytest.raises(NothingFitted):
        run_plan(counting("a", 1), lambda stage: [None, None])


def test_a_seed_of_any_size_makes_folds() -> None:
    y = np.arange(20) % 2
    assert len(hold_out((Fold(0, 5, seed=2**40),), y).rows) == 4
