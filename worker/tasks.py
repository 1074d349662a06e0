"""The only Celery task: a turn, which runs units until there are none."""

from __future__ import annotations

from collections.abc import Sequence

from celery import Celery

from worker.engine.dispatch import TASK
from worker.engine.runner import Runner


def add_tasks(app: Celery, runners: Sequence[Runner]) -> None:
    """Register the task. Each child process creates its runner after the fork."""

    @app.task(name=TASK)
    def turn() -> None:
        runners[0].take_turn()
