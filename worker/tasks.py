"""The one task: a turn, which is to work until there is nothing to do."""

from __future__ import annotations

from collections.abc import Sequence

from celery import Celery

from worker.engine.dispatch import TASK
from worker.engine.runner import Runner


def add_tasks(app: Celery, runners: Sequence[Runner]) -> None:
    """Register the task. The runner is made in each child process after it was forked."""

    @app.task(name=TASK)
    def turn() -> None:
        runners[0].take_turn()
