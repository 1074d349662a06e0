"""How workers learn that there is work: an empty message on one queue.

The state is in the store; a message only wakes a process. If one is lost, the next sweep sends another; a duplicate
costs one call.
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
    """Sends messages. Never raises: the next sweep sends what could not be sent."""

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
        except Exception as error:  # any error of the client: the next sweep sends again
            logger.warning("no message sent", extra={"reason": str(error)})


def broker_url(redis_url: str) -> str:
    """The URL of the store in the form that Celery expects."""
    if not redis_url.startswith("unix://"):
        return redis_url
    return redis_url.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host=", 1)


def broker_ssl(redis_url: str) -> dict[str, str] | None:
    """TLS options for Celery. Without them it would use no encryption for a `rediss://` URL that has no options."""
    return {"ssl_cert_reqs": "required"} if redis_url.startswith("rediss://") and "ssl_" not in redis_url else None


def celery_app(settings: Settings) -> Celery:
    """Celery as service and worker both configure it: JSON only, no results, one queue."""
    app = Celery("melm")
    app.conf.update(broker_settings(settings))
    return app


def broker_settings(settings: Settings) -> dict[str, Any]:
    """The settings that senders and receivers of messages share."""
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
            # A sender tries to connect only briefly, because the next sweep sends what it could not.
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
