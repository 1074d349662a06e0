"""`python -m service`: the API, which listens on the address in the settings."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import uvicorn

from service.operation import logs
from service.operation.connections import listening, protocol_of
from service.operation.metrics import shared_by
from service.security.binding import check_binding
from service.security.keys import Keyring
from service.settings import ServiceSettings
from worker.store.errors import SettingsError

SHUTDOWN_SECONDS = 5  # clients that wait or stream reconnect by themselves
# With several processes, one that does not answer health checks for so long is killed. It does not answer them while it
# imports its modules, which takes half a minute on a busy machine.
HEALTH_SECONDS = 60


def main() -> None:
    """Check the settings, then serve."""
    try:
        settings = ServiceSettings.from_environment(os.environ)
        keyring = Keyring(settings.keys, Path(settings.keys_file) if settings.keys_file else None)
        check_binding(settings.host, keyring, settings.user_header)
    except SettingsError as error:
        sys.exit(f"melm: {error}")
    logs.configure(settings.log_level)
    with shared_by(settings.api_processes), open_port(settings) as listener:
        uvicorn.run(
            "service.app:from_environment",
            factory=True,
            fd=listener.fileno(),
            workers=settings.api_processes,
            http=protocol_of(settings),
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            timeout_worker_healthcheck=HEALTH_SECONDS,
        )


@contextmanager
def open_port(settings: ServiceSettings) -> Iterator[socket.socket]:
    """Open the listening socket, or exit with the reason."""
    with ExitStack() as stack:
        try:
            listener = stack.enter_context(listening(settings))
        except OSError as error:
            sys.exit(f"melm: cannot listen on {settings.host}, port {settings.port}: {error.strerror}.")
        yield listener


if __name__ == "__main__":
    main()
