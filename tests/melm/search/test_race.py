"""The search as a plan: which starts go on, on how many rows, and what is promised about more of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from melm.data.labeled import Labeled
from melm.plan import NothingFitted, Plan, Result, Stage, Unit, run_plan
from melm.search.race import Found, Search
from melm.typing import Array
from tests.melm.samples import mixture

ALL = 1_000_000
SIZES = [10_000, 100_000, ALL]
Answer = Callable[[Unit, int], float]


def search(n_starts: int, *, race: bool = True) -> Search:
    return Search(
        n_components=1,
        n_starts=n_starts,
        covariance="ledoit_wolf",
        ridge=0.0,
        form="auto",
        race=race,
        max_iterations=1000,
        tolerance=1e-7,
        seed=0,
    )


def direction(start: int) -> Array:
    """A line of its own for every start."""
    return np.array([[np.cos(start / 50)], [np.sin(start / 50)]])


def drive(
    plan: Plan[Found], answer: Answer, *, arrive: Callable[[int], Array] = direction, end: str | None = None
) -> tuple[Found, list[Stage]]:
    """Run a plan with made-up units: `answer` tells the divergence of one on so many rows, `arrive` where a start gets.

    From the stage whose name begins with `end` on, the units give nothing.
    """
    stages: list[Stage] = []

    def run_unit(unit: Unit) -> Result:
        n_sampled = unit.arguments.get("n_sampled")
        limit = unit.arguments["max_evaluations"]
        return {
            "projection": arrive(unit.arguments["start"]),
            "sample_divergence" if n_sampled else "divergence": answer(unit, n_sampled or ALL),
            "n_evaluations": limit or 30,
            "stopping_reason": "dropped" if limit else "converged",
        }

    def run_stage(stage: Stage) -> list[Result | None]:
        stages.append(stage)
        ended = end is not None and any(stage.name.startswith(end) for stage in stages)
        return [None if ended else run_unit(unit) for unit in stage.units]

    return run_plan(plan, run_stage), stages


def by_start(heights: list[float]) -> Answer:
    return lambda unit, _: heights[unit.arguments["start"]]


def test_small_data_sets_are_raced_in_full_accuracy() -> None:
    found, stages = drive(search(6).plan(512, 1.0), by_start([3, 1, 2, 5, 4, 0.5]))
    assert [stage.name for stage in stages] == ["start", "polish"]
    assert not any(unit.arguments["coarse"] for stage in stages for unit in stage.units)
    assert [start.n_rows for start in found.in_order()] == [512] * 6


def test_beyond_them_all_rows_are_raced_twice_with_coarse_potentials() -> None:
    found, stages = drive(search(6).plan(39_999, 1.0), by_start([3, 2, 1, 5, 4, 0.5]))
    coarse = ["start", "race", "polish"]
    assert [stage.name for stage in stages] == [*coarse, "judge in full accuracy", "polish in full accuracy"]
    assert {stage.name for stage in stages for unit in stage.units if unit.arguments["coarse"]} == set(coarse)
    assert not any("n_sampled" in unit.arguments for stage in stages for unit in stage.units)
    starts = [[unit.arguments["start"] for unit in stage.units] for stage in stages]
    assert starts == [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4], [0, 1, 3, 4], [0, 1, 3, 4], [3]]
    assert [start.n_rows for start in found.in_order()] == [39_999] * 6
    assert [start.index for start in found.judged()] == [0, 1, 3, 4]
    names = [unit.name for stage in stages for unit in stage.units]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("change", [{"form": "exact"}, {"n_components": 4}])
def test_potentials_over_pairs_are_always_in_full_accuracy(change: dict[str, Any]) -> None:
    _, stages = drive(replace(search(3), **change).plan(5_000, 1.0), by_start([3, 1, 2]))
    assert [stage.name for stage in stages] == ["start", "polish"]


def test_without_a_race_every_start_converges_on_all_rows() -> None:
    _, stages = drive(search(6, race=False).plan(ALL, 1.0), by_start([3, 1, 2, 5, 4, 0.5]))
    assert [(stage.name, len(stage.units)) for stage in stages] == [("start", 6)]
    assert all(unit.arguments["max_evaluations"] is None for unit in stages[0].units)


def test_large_data_sets_go_from_coarse_to_fine() -> None:
    found, stages = drive(search(6).plan(ALL, 1.0), by_start([3, 1, 2, 5, 4, 0.5]))
    assert [stage.name for stage in stages] == [
        "start",
        "polish",
        "judge on 100000 rows",
        "polish on 100000 rows",
        "judge on 1000000 rows",
        "polish on 1000000 rows",
    ]
    rows = [{unit.arguments.get("n_sampled", ALL) for unit in stage.units} for stage in stages]
    assert rows == [{10_000}, {10_000}, {100_000}, {100_000}, {ALL}, {ALL}]
    assert [(stage.n_rows, stage.n_evaluations) for stage in found.stages][-1] == (ALL, 30)
    assert [start.index for start in found.judged() if start.divergence == 5] == [3]
    names = [unit.name for stage in stages for unit in stage.units]
    assert len(set(names)) == len(names)


def test_an_optimum_that_several_starts_reach_is_judged_once() -> None:
    _, stages = drive(search(6).plan(ALL, 1.0), by_start([1.0] * 6), arrive=lambda start: direction(0))
    assert [len(stage.units) for stage in stages[2:]] == [1, 1, 1, 1]


def test_what_the_gain_of_the_best_could_lift_above_it_races_on() -> None:
    judged = {0: 1.0, 1: 0.99, 2: 0.9}

    def last(gain: float, lift: float) -> list[tuple[str, list[int]]]:
        """The stages after the best has climbed by the gain, where all others can climb by the lift."""

        def answer(unit: Unit, _: int) -> float:
            climbed = {"polish 0 on 1000000 rows": gain, "race 1 on 1000000 rows": lift, "race 2 on 1000000 rows": lift}
            return judged[unit.arguments["start"]] + climbed.get(unit.name, 0.0)

        _, stages = drive(search(3).plan(ALL, 1.0), answer)
        return [(stage.name.split()[0], [unit.arguments["start"] for unit in stage.units]) for stage in stages[6:]]

    assert last(0.001, 1.0) == []
    assert last(0.04, 0.01) == [("race", [1])]
    assert last(0.04, 0.2) == [("race", [1]), ("polish", [1])]
    assert last(0.2, 0.0) == [("polish", [1, 2])]


def test_a_sample_that_misleads_does_not_decide() -> None:
    """The best of the sample is the worst of all rows, which is seen when all rows judge."""

    def answer(unit: Unit, n_rows: int) -> float:
        height = [4.0, 3.8, 3.6][unit.arguments["start"]]
        return height if n_rows < ALL else 8.0 - height

    found, _ = drive(search(3).plan(ALL, 1.0), answer)
    best = max(found.judged(), key=lambda start: start.divergence)
    assert (best.index, best.n_rows) == (2, ALL)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 20), st.integers(0, 2**32))
def test_more_starts_are_judged_no_worse_on_all_rows(n_starts: int, seed: int) -> None:
    noise = np.random.default_rng(seed).random((21, 3))

    def answer(unit: Unit, n_rows: int) -> float:
        return float(1 + noise[unit.arguments["start"], SIZES.index(n_rows)])

    def judged(n: int) -> dict[int, float]:
        _, stages = drive(search(n).plan(ALL, 1.0), answer)
        units = next(stage.units for stage in stages if stage.name == "judge on 1000000 rows")
        return {unit.arguments["start"]: answer(unit, ALL) for unit in units}

    fewer, more = judged(n_starts), judged(n_starts + 1)
    assert fewer.items() <= more.items()
    assert max(more.values()) >= max(fewer.values())


def test_a_search_that_is_cut_off_keeps_the_best_of_the_most_rows_it_saw() -> None:
    heights = by_start([3, 1, 2, 5, 4, 0.5])
    for end, n_rows in (("judge on 1000000", 100_000), ("judge on 100000", 10_000), ("polish", 10_000)):
        found, _ = drive(search(6).plan(ALL, 1.0), heights, end=end)
        assert {start.n_rows for start in found.judged()} == {n_rows}
        assert max(start.divergence for start in found.judged()) == 5
    with pytest.raises(NothingFitted):
        drive(search(6).plan(ALL, 1.0), heights, end="start")


def test_only_divergences_on_all_rows_count_as_progress() -> None:
    X, y = mixture([60, 60], 3)
    prepared = Labeled.check(X, y).prepare("ledoit_wolf")
    arguments: dict[str, Any] = {"start": 0, "gamma": 1.0, "max_evaluations": 2}
    assert "divergence" in search(1).run(prepared, arguments, lambda: False)
    sampled = search(1).run(prepared, arguments | {"n_sampled": 50}, lambda: False)
    assert "divergence" not in sampled
    assert sampled["sample_divergence"] > 0


def test_starts_on_few_rows_run_together_and_give_the_same_bits() -> None:
    prepared = Labeled.check(*mixture([60, 50, 40], 4)).prepare("ledoit_wolf")
    small = replace(search(5), n_components=2)
    units: list[Unit] = []

    def run_stage(stage: Stage) -> list[Result]:
        assert len({unit.alike for unit in stage.units}) == 1
        assert stage.units[0].alike is not None
        units.extend(stage.units)
        return small.run_together(prepared, [unit.arguments for unit in stage.units], lambda: False)

    together = run_plan(small.plan(150, 1.0), run_stage)
    alone = run_plan(
        small.plan(150, 1.0),
        lambda stage: [small.run(prepared, unit.arguments, lambda: False) for unit in stage.units],
    )
    for one, other in zip(together.in_order(), alone.in_order(), strict=True):
        np.testing.assert_array_equal(one.projection, other.projection)
        assert (one.divergence, one.n_evaluations) == (other.divergence, other.n_evaluations)
    separate = [small._climb(prepared, unit.arguments, lambda: False) for unit in units[:5]]
    for result, unit in zip(separate, units, strict=False):
        ours = small.run(prepared, unit.arguments, lambda: False)
        assert ours["divergence"] == pytest.approx(result["divergence"], abs=1e-6)
    assert all(unit.alike is None for unit in next(small.plan(513, 1.0)).units)
    assert all(unit.alike is None for unit in next(replace(small, form="spectral").plan(150, 1.0)).units)
