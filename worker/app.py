"""The Celery worker: a parent process that renews leases and sweeps, and child processes that run fits."""

# ruff: noqa: E402
from __future__ import annotations

import os

# Read by the numerical libraries when they are imported. One thread per process: two processes with one thread each
# have more than twice the throughput of two with two threads.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[_name] = "1"

import logging
import signal
import threading
from contextlib import suppress
from typing import Any

from billiard import current_process, pool
from celery import Celery, signals
from threadpoolctl import threadpool_limits

from worker.engine import open_engine
from worker.engine.dataset_files import DatasetFiles
from worker.engine.dispatch import QUEUE, CeleryDispatcher, broker_settings
from worker.engine.keeper import ChildKeeper, Family, ParentKeeper
from worker.engine.library import Library
from worker.engine.reconcile import Reconciler
from worker.engine.runner import Runner
from worker.logs import log_as_json
from worker.store.errors import ContractError
from worker.store.process import identity
from worker.store.settings import Settings
from worker.tasks import add_tasks

logger = logging.getLogger(__name__)


def worker_settings(settings: Settings) -> dict[str, Any]:
    """The settings of the worker, in addition to those that it shares with senders of messages."""
    return {
        "worker_concurrency": settings.worker_processes,
        "worker_prefetch_multiplier": 1,
        "worker_max_memory_per_child": settings.process_memory_bytes >> 10,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_hijack_root_logger": False,
        "broker_channel_error_retry": True,  # a full server causes such errors, which would end the worker
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
    }


# For so many tenths of a second a child that ends waits until its parent has read its messages. By default this is half
# a minute, and all of it if another child was lost before. The results of a turn are in the store, so it need not wait.
pool.GUARANTEE_MESSAGE_CONSUMPTION_RETRY_LIMIT = 10


def create_app(settings: Settings, library: Library) -> Celery:
    """The Celery application of a worker that fits with this library."""
    app = Celery("melm", set_as_current=True)
    app.conf.update(broker_settings(settings) | worker_settings(settings))
    family = Family(settings.worker_processes)
    runners: list[Runner] = []
    add_tasks(app, runners)

    def begin_child(**_: Any) -> None:
        threadpool_limits(1)
        store = open_engine(settings)
        slot = current_process().index  # type: ignore[attr-defined]  # which of the worker's processes this is
        keeper = ChildKeeper(family, slot, settings.unit_seconds)
        runners.append(Runner(store, CeleryDispatcher(settings, app), library, keeper, identity(os.getpid())))

    def begin_parent(**_: Any) -> None:
        store = open_engine(settings)
        files = DatasetFiles(store)
        files.clear()  # of a worker that was killed
        signals.worker_shutdown.connect(lambda **_: files.clear(), weak=False)
        dispatcher = CeleryDispatcher(settings, app)
        with suppress(ContractError):  # unavailable: the first sweep afterwards wakes idle processes
            store.workers.beat(identity(os.getpid()), settings.worker_processes)
        dispatcher.send(settings.worker_processes)  # messages may not have been sent while no worker was alive
        keeper = ParentKeeper(store, dispatcher, family, identity(os.getpid()))
        reconciler = Reconciler(store, dispatcher)
        for thread in (keeper, reconciler):
            thread.start()
            signals.worker_shutdown.connect(lambda thread=thread, **_: thread.stop(), weak=False)

    def stop(**_: Any) -> None:
        family.stop()
        # A child in a long call of a C function, or a hung consumer, would keep the worker from ending.
        late = threading.Timer(settings.stop_seconds, end_now)
        late.daemon = True
        late.start()

    signals.worker_process_init.connect(begin_child, weak=False)
    signals.worker_ready.connect(begin_parent, weak=False)
    signals.worker_shutting_down.connect(stop, weak=False)
    return app


def end_now() -> None:
    """Kill this worker: its children end with it, and other workers take over their leases."""
    logger.critical("the worker did not stop in time; killed")
    os.kill(os.getpid(), signal.SIGKILL)


def run_worker(settings: Settings, library: Library) -> None:
    """Run a worker until a signal asks it to stop. On SIGTERM it releases its leases and ends."""
    log_as_json()
    options = [
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
        "--loglevel",
        "WARNING",
        "--queues",
        QUEUE,
    ]
    create_app(settings, library).worker_main(["--quiet", "worker", *options])
