"""How workers learn that there is work: a message that carries nothing, on one queue.

The store is the truth. A message only wakes a worker: one that is lost costs a sweep, one that comes twice a call.
"""

from __future__ import annotations

import logging
from typing import Any, Protocol

from celery import Celery
from kombu import Queue

from worker.store.settings import Settings

QUEUE = "melm"
TASK = "melm.turn"
BROKER_PREFIX = "melm-broker:"

logger = logging.getLogger(__name__)


class Dispatcher(Protocol):
    """Sends messages. Never raises: what was not sent is found by the next sweep."""

    def send(self, n_messages: int = 1) -> None:
        """Wake so many processes of workers."""
        ...


class CeleryDispatcher:
    """Messages on the Celery queue that the workers listen to."""

    def __init__(self, settings: Settings, app: Celery | None = None) -> None:
        self._app = app or celery_app(settings)

    def send(self, n_messages: int = 1) -> None:
        """Wake so many processes of workers."""
        try:
            for _ in range(n_messages):
                self._app.send_task(TASK, queue=QUEUE, retry=False)
        except Exception as error:  # whatever the broker's client raises: the sweep sends again
            logger.warning("no message sent", extra={"reason": str(error)})


def broker_url(redis_url: str) -> str:
    """The store's address in the broker's spelling."""
    if not redis_url.startswith("unix://"):
        return redis_url
    return redis_url.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host=", 1)


def broker_ssl(redis_url: str) -> dict[str, str] | None:
    """What the broker's client must be told: it would speak in the clear to a `rediss://` address that says no more."""
    return {"ssl_cert_reqs": "required"} if redis_url.startswith("rediss://") and "ssl_" not in redis_url else None


def celery_app(settings: Settings) -> Celery:
    """Celery as service and worker both configure it: JSON only, no results, one queue."""
    app = Celery("melm")
    app.conf.update(broker_settings(settings))
    return app


def broker_settings(settings: Settings) -> dict[str, Any]:
    """What sender and receiver of messages must share."""
    return {
        "broker_url": broker_url(settings.redis_url),
        "broker_use_ssl": broker_ssl(settings.redis_url),
        "broker_transport_options": {
            "global_keyprefix": BROKER_PREFIX,
            "visibility_timeout": 4 * round(settings.unit_seconds),
            "unacked_restore_interval": 10,
            "unacked_restore_throttle": 1,
            "socket_timeout": 10,
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
            "health_check_interval": 10,
            # How long a sender tries to connect. Not for long: the sweep sends what it could not.
            "max_retries": 1,
            "interval_start": 0,
            "interval_step": 0.1,
            "interval_max": 0.1,
        },
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "task_queues": [Queue(QUEUE)],
        "task_default_queue": QUEUE,
        "task_ignore_result": True,
        "task_serializer": "json",
        "accept_content": ["json"],
        "worker_enable_remote_control": False,
        "worker_send_task_events": False,
    }
