"""The settings of the API, in addition to those of store and worker; read once at the entry point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from service.intake.formats.table import Limits
from worker.store.settings import Settings, setting


@dataclass(frozen=True)
class ServiceSettings(Settings):
    """One field per variable, as in `Settings`: `max_rows` is read from `MELM_MAX_ROWS`."""

    host: str = setting("127.0.0.1", "The address to listen on. Any address but loopback requires API keys.")
    port: int = setting(8000, "The port to listen on.")
    api_processes: int = setting(1, "The number of API processes.")
    root_path: str = setting("", "The path prefix under which a reverse proxy serves the API, such as /melm.")
    log_level: str = setting("info", "The lowest level that is logged: debug, info, warning or error.")
    keys: str = setting("", "API keys without a file, separated by semicolons: tenant, scope, SHA-256 in hex.")
    keys_file: str = setting("", "The file of API keys that `melm keys` writes; it is reloaded when it changes.")
    allowed_hosts: str = setting("", "Additional host names, separated by commas, that the `Host` header may contain.")
    user_header: str = setting(
        "", "A header in which a trusted proxy sends the authenticated user; each user is a tenant."
    )
    trusted_proxies: str = setting("127.0.0.1", "The addresses of trusted proxies, separated by commas.")
    requests_per_second: float = setting(
        1000.0, "Rate limit: requests per key, over all processes. Zero means no limit."
    )
    max_body_bytes: int = setting(128 * 1024 * 1024, "The largest request body, as sent and after decompression.")
    max_upload_bytes: int = setting(
        1024**3, "The largest body of a dataset that is not JSON; such a body is not held in memory."
    )
    max_bytes_in_flight: int = setting(
        512 * 1024 * 1024, "Memory that all requests together may use, decompressed and parsed; see operations.md."
    )
    max_rows: int = setting(10_000_000, "The largest number of rows in one body.")
    max_columns: int = setting(200_000, "The largest number of columns in one body.")
    max_sparse_columns: int = setting(1_000_000, "The largest number of columns of a sparse matrix.")
    max_starts: int = setting(1_000, "The largest number of starts of one fit.")
    max_units: int = setting(20_000, "The largest number of units of work of one fit, validation included.")
    max_estimated_seconds: float = setting(
        86_400.0, "The largest estimated computing time of one fit, in seconds of one core."
    )
    max_time_budget_seconds: float = setting(86_400.0, "The largest time budget of one fit.")
    max_connections: int = setting(
        4096, "Connections to one process; beyond that, the longest idle one is closed.", least=1
    )
    max_connections_per_address: int = setting(1024, "Connections from one address to one process.", least=1)
    send_timeout_seconds: float = setting(
        20.0, "How long a client may leave a response unread before its connection is closed."
    )
    heavy_threads: int = setting(4, "Threads for long computations, such as large predictions and plots.", least=2)
    max_work_seconds: float = setting(30.0, "The longest computing time of one request.")
    header_timeout_seconds: float = setting(10.0, "How long the headers of a request may take to arrive.")
    upload_timeout_seconds: float = setting(60.0, "How long a body, or each 16 MiB of it, may take to arrive.")
    serve_rows: int = setting(1, "Whether the owner of a dataset can download its rows: 1 or 0.")
    model_cache_bytes: int = setting(256 * 1024 * 1024, "Size of the decoded models that one process keeps in memory.")
    model_check_seconds: float = setting(
        1.0, "How long a cached model is used before the store is asked whether it still exists."
    )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> ServiceSettings:
        """Read all variables; raise `SettingsError` with the name of the one that is invalid."""
        settings = super().from_environment(environ)
        return cast("ServiceSettings", settings)

    @cached_property
    def limits(self) -> Limits:
        """How large a body may be."""
        return Limits(self.max_body_bytes, self.max_rows, self.max_columns, sparse_columns=self.max_sparse_columns)
