"""The one task: a turn at a fit."""

from __future__ import annotations

from collections.abc import Sequence

from celery import Celery

from worker.engine.dispatch import TASK
from worker.engine.runner import Runner


def add_tasks(app: Celery, runners: Sequence[Runner]) -> None:
    """Register the task. The runner is made in each child process after it was forked."""

    @app.task(name=TASK)
    def turn(tenant: str, fit_id: str) -> None:
        runners[0].take_turn(tenant, fit_id)
