from __future__ import annotations

import os
import signal
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import melm.search.climb as climb_module
from melm.data.prepared_rows import PreparedRows
from melm.objective.divergence import WhitenedDivergence
from melm.objective.stack import DivergenceStack
from melm.plan import Stopped
from melm.search.climb import RACE_SURVIVORS, StoppingReason, climb, climb_together, race_survivors
from melm.search.starts import start_projection
from tests.melm.samples import Array, mixture
from tests.servers import wait_until


@pytest.fixture
def objective() -> WhitenedDivergence:
    X, y = mixture([60, 80], 6)
    return WhitenedDivergence(PreparedRows.prepare(X, y, 2, "empirical"), 2)


def test_a_climb_ends_where_the_gradient_vanishes(objective: WhitenedDivergence) -> None:
    V0 = start_projection(objective.prepared.whitening, 2, seed=0, index=5)
    end = climb(objective, V0, tolerance=1e-7, max_iterations=1000)
    assert end.stopping_reason is StoppingReason.CONVERGED
    assert end.divergence > objective.value(V0)
    assert np.abs(objective.value_and_gradient(end.projection)[1]).max() < 1e-4
    np.testing.assert_allclose(end.projection.T @ end.projection, np.eye(2), atol=1e-4)


def test_limits_end_a_climb_with_the_best_point(objective: WhitenedDivergence) -> None:
    V0 = start_projection(objective.prepared.whitening, 2, seed=0, index=5)
    dropped = climb(objective, V0, tolerance=1e-7, max_iterations=1000, max_evaluations=7)
    assert (dropped.stopping_reason, dropped.n_evaluations) == (StoppingReason.DROPPED, 7)
    assert dropped.divergence == pytest.approx(objective.value(dropped.projection), abs=1e-12)
    assert climb(objective, V0, tolerance=1e-7, max_iterations=2).stopping_reason is StoppingReason.MAX_ITERATIONS


def test_a_climb_stops_when_told(objective: WhitenedDivergence) -> None:
    V0 = start_projection(objective.prepared.whitening, 2, seed=0, index=5)
    asked = iter([False, False, True])
    with pytest.raises(Stopped):
        climb(objective, V0, tolerance=1e-7, max_iterations=1000, should_stop=lambda: next(asked))
    assert objective.n_evaluations == 2


def test_an_interrupt_keeps_the_climb_so_far(objective: WhitenedDivergence, monkeypatch: pytest.MonkeyPatch) -> None:
    V0 = start_projection(objective.prepared.whitening, 2, seed=0, index=5)
    evaluate = objective.value_and_gradient

    def interrupted(V: np.ndarray[tuple[int, ...], np.dtype[np.float64]]):  # type: ignore[no-untyped-def]
        if objective.n_evaluations == 5:
            raise KeyboardInterrupt
        return evaluate(V)

    monkeypatch.setattr(objective, "value_and_gradient", interrupted)
    end = climb(objective, V0, tolerance=1e-7, max_iterations=1000)
    assert (end.stopping_reason, end.n_evaluations) == (StoppingReason.CANCELED, 5)


@given(st.lists(st.one_of(st.none(), st.floats(-1e3, 1e3)), max_size=30), st.integers(0, 30))
def test_more_starts_never_change_who_survived_before(divergences: list[float | None], n: int) -> None:
    survivors = race_survivors(divergences)
    assert [i for i in survivors if i < n] == race_survivors(divergences[:n])
    found = [d for d in divergences if d is not None]
    if found:
        assert max(divergences[i] or 0.0 for i in survivors if divergences[i] == max(found)) == max(found)
    assert all(i in survivors for i in range(min(RACE_SURVIVORS, len(divergences))) if divergences[i] is not None)


def test_starts_are_orthonormal_distinct_and_their_own(objective: WhitenedDivergence) -> None:
    whitening = objective.prepared.whitening
    starts = [start_projection(whitening, 2, seed=0, index=i) for i in range(8)]
    for V in starts:
        np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-12)
    overlaps = [np.linalg.norm(a.T @ b) for i, a in enumerate(starts) for b in starts[:i]]
    assert max(overlaps) < np.sqrt(2) - 1e-6
    np.testing.assert_array_equal(starts[5], start_projection(whitening, 2, seed=0, index=5))
    assert not np.allclose(starts[5], start_projection(whitening, 2, seed=1, index=5))


def test_the_first_start_holds_the_discriminant_direction(objective: WhitenedDivergence) -> None:
    means = objective.prepared.whitening.means
    direction = (means[0] - means[1]) / np.linalg.norm(means[0] - means[1])
    V = start_projection(objective.prepared.whitening, 2, seed=0, index=0)
    assert np.linalg.norm(V.T @ direction) == pytest.approx(1)


@pytest.fixture
def stack(objective: WhitenedDivergence) -> DivergenceStack:
    return DivergenceStack([objective.prepared], 2)


def test_climbs_together_end_where_each_ends_alone(objective: WhitenedDivergence, stack: DivergenceStack) -> None:
    starts = [start_projection(objective.prepared.whitening, 2, seed=0, index=index) for index in range(6)]
    together = climb_together(stack, starts, tolerance=1e-7, max_iterations=1000)
    for V0, end in zip(starts, together, strict=True):
        (alone,) = climb_together(stack, [V0], tolerance=1e-7, max_iterations=1000)
        np.testing.assert_array_equal(end.projection, alone.projection)
        assert (end.divergence, end.n_evaluations) == (alone.divergence, alone.n_evaluations)
        separate = climb(objective, V0, tolerance=1e-7, max_iterations=1000)
        assert end.divergence == pytest.approx(separate.divergence, abs=1e-6)
    limited = climb_together(stack, starts, tolerance=1e-7, max_iterations=1000, max_evaluations=7)
    assert {(end.stopping_reason, end.n_evaluations) for end in limited} == {(StoppingReason.DROPPED, 7)}


def test_climbs_together_stop_when_told(objective: WhitenedDivergence, stack: DivergenceStack) -> None:
    starts = [start_projection(objective.prepared.whitening, 2, seed=0, index=index) for index in range(3)]
    asked = iter([False, False, True])
    with pytest.raises(Stopped):
        climb_together(stack, starts, tolerance=1e-7, max_iterations=1000, should_stop=lambda: next(asked))
    assert next(asked, None) is None


def test_an_interrupt_keeps_all_climbs_so_far(
    objective: WhitenedDivergence, stack: DivergenceStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal reaches the thread that waits, while others climb."""
    starts = [start_projection(objective.prepared.whitening, 2, seed=0, index=index) for index in range(3)]
    evaluate, meeting_of = stack.values_and_gradients, climb_module._Meeting
    called: list[int] = []
    meetings: list[Any] = []

    def interrupted(V: Array, problems: Any) -> tuple[Array, Array]:
        called.append(len(V))
        if len(called) == 5:
            os.kill(os.getpid(), signal.SIGINT)
            wait_until(lambda: meetings[0].interrupted)
        return evaluate(V, problems)

    def seen(*arguments: Any) -> Any:
        meetings.append(meeting_of(*arguments))
        return meetings[0]

    monkeypatch.setattr(stack, "values_and_gradients", interrupted)
    monkeypatch.setattr(climb_module, "_Meeting", seen)
    ends = climb_together(stack, starts, tolerance=1e-7, max_iterations=1000)
    assert {end.stopping_reason for end in ends} == {StoppingReason.CANCELED}
    assert all(end.n_evaluations >= 4 for end in ends)


def test_a_failure_at_one_point_is_that_starts_alone(
    objective: WhitenedDivergence, stack: DivergenceStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = [start_projection(objective.prepared.whitening, 2, seed=0, index=index) for index in range(3)]
    evaluate = stack.values_and_gradients

    def breaks(V: Array, problems: Any) -> tuple[Array, Array]:
        if any(np.array_equal(own, starts[1]) for own in V):
            raise np.linalg.LinAlgError
        return evaluate(V, problems)

    monkeypatch.setattr(stack, "values_and_gradients", breaks)
    reasons = [end.stopping_reason for end in climb_together(stack, starts, tolerance=1e-7, max_iterations=1000)]
    assert reasons == [StoppingReason.CONVERGED, StoppingReason.ERROR, StoppingReason.CONVERGED]
