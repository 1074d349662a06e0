"""A unit that is stopped goes on later, and ends as if it had never been stopped."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np
import pytest

from melm.data.labeled import Labeled
from melm.estimator import MELM
from melm.methods import METHODS
from melm.plan import Result, Stage, Stopped, Unit, run_plan
from melm.search.path import SAMPLE_ROWS
from melm.search.recording import Recording
from melm.typing import Array
from tests.melm.samples import mixture


def in_slices(run: Callable[[Unit, Callable[[], bool]], Result], unit: Unit, n_evaluations: int) -> tuple[Result, int]:
    """What a unit gives that is stopped after so many evaluations, again and again; and how often it was begun."""
    arguments = unit.arguments
    for n_slices in count(1):
        asked = count()
        try:
            part = Unit(unit.name, arguments, unit.resamples)
            return run(part, lambda asked=asked: next(asked) == n_evaluations), n_slices  # type: ignore[misc]
        except Stopped as stopped:
            arguments = unit.arguments | (stopped.so_far or {})
    raise AssertionError


@pytest.mark.parametrize("n_evaluations", [1, 7])
def test_a_start_goes_on_where_it_was(n_evaluations: int) -> None:
    data = Labeled.check(*mixture([60, 50, 40], 4))
    fitting = MELM(n_starts=1, form="spectral", regularization=None).fitting(4)
    unit = next(fitting.plan(data)).units[0]
    assert unit.resumable
    whole = fitting.run(data, unit, lambda: False)
    found, n_slices = in_slices(lambda part, stop: fitting.run(data, part, stop), unit, n_evaluations)
    assert n_slices == -(-whole["n_evaluations"] // n_evaluations)
    assert found["projection"].tobytes() == whole["projection"].tobytes()
    assert {**found, "projection": 0} == {**whole, "projection": 0}


def test_the_polish_of_a_path_goes_on_where_it_was() -> None:
    data = Labeled.check(*mixture([SAMPLE_ROWS, 500], 3))
    method = METHODS["melm"]
    parameters = method.Parameters(regularization="path", ridge=0, gamma=1.0, objective="divergence")
    polishes: list[tuple[Unit, Result]] = []

    def run(stage: Stage) -> list[Result]:
        results = [method.run(data, parameters, unit, lambda: False) for unit in stage.units]
        polishes.extend((u, r) for u, r in zip(stage.units, results, strict=True) if "polish" in u.name)
        return results

    run_plan(method.plan(data, parameters), run)
    ((unit, whole),) = polishes
    found, n_slices = in_slices(lambda part, stop: method.run(data, parameters, part, stop), unit, 2)
    assert n_slices > 1
    assert np.array_equal(found["projection"], whole["projection"])
    assert found["n_evaluations"] == whole["n_evaluations"]


@pytest.mark.parametrize("index", [0, -1], ids=["on all rows", "in an inner fold"])
def test_a_path_goes_on_where_it_was(index: int) -> None:
    """Its race, and the climbs of both objectives one after the other."""
    data = Labeled.check(*mixture([30, 25, 20], 4))
    method = METHODS["melm"]
    parameters = method.Parameters(ridge=0, gamma=1.0, n_starts=2)
    unit = next(method.plan(data, parameters)).units[index]
    assert unit.resumable
    whole = method.run(data, parameters, unit, lambda: False)
    found, n_slices = in_slices(lambda part, stop: method.run(data, parameters, part, stop), unit, 20)
    assert n_slices == -(-whole["n_evaluations"] // 20)
    assert found.keys() == whole.keys()
    for name, value in whole.items():
        assert np.asarray(found[name]).tobytes() == np.asarray(value).tobytes()


class Broken:
    """Cannot be computed beyond some point."""

    def value_and_gradient(self, V: Array) -> tuple[float, Array]:
        if V[0, 0] > 1:
            raise np.linalg.LinAlgError
        return float(V.sum()), V


def test_where_nothing_can_be_computed_is_remembered() -> None:
    points = [np.full((1, 1), float(value)) for value in (0, 2, 1)]
    stops = count()
    before = Recording(Broken(), {}, lambda: next(stops) == 2)
    before.value_and_gradient(points[0])
    with pytest.raises(np.linalg.LinAlgError):
        before.value_and_gradient(points[1])
    with pytest.raises(Stopped) as stopped:
        before.beside(Broken()).value_and_gradient(points[2])
    after = Recording(Broken(), stopped.value.so_far or {}, lambda: False)
    assert after.value_and_gradient(points[0])[0] == 0
    with pytest.raises(np.linalg.LinAlgError):
        after.value_and_gradient(points[1])
    assert after.beside(Broken()).value_and_gradient(points[2])[0] == 1
    assert after.n_evaluations == 3
