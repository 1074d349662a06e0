"""What can be set about the API, beside the settings of store and worker; read once at the entry point."""

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

    host: str = setting("127.0.0.1", "The address to listen on. Anything but loopback needs keys.")
    port: int = setting(8000, "The port to listen on.")
    api_processes: int = setting(1, "Processes that answer requests.")
    root_path: str = setting("", "The path under which a proxy serves this service, such as /melm.")
    log_level: str = setting("info", "The least level that is logged: debug, info, warning or error.")
    keys: str = setting("", "Keys without a file, separated by semicolons: tenant, scope, SHA-256 in hex.")
    keys_file: str = setting("", "The file that `melm keys` writes; changes are taken up without a restart.")
    allowed_hosts: str = setting("", "More names, separated by commas, by which browsers may call the service.")
    user_header: str = setting("", "A header in which a trusted proxy names the user, who becomes the tenant.")
    trusted_proxies: str = setting("127.0.0.1", "The addresses, separated by commas, from which that header counts.")
    requests_per_second: float = setting(1000.0, "Requests per key, by all processes. Zero means no limit.")
    max_body_bytes: int = setting(128 * 1024 * 1024, "The largest body, as sent and as decompressed.")
    max_upload_bytes: int = setting(1024**3, "The same for a dataset that is not JSON, which is not held in memory.")
    max_bytes_in_flight: int = setting(
        512 * 1024 * 1024, "What requests may hold in memory together, as they unfold; see operations.md."
    )
    max_rows: int = setting(10_000_000, "The most rows of one body.")
    max_columns: int = setting(200_000, "The most columns of one body.")
    max_sparse_columns: int = setting(1_000_000, "The same for a sparse matrix.")
    max_starts: int = setting(1_000, "The most starts of one fit.")
    max_units: int = setting(20_000, "The most units of work of one fit, its validation included.")
    max_estimated_seconds: float = setting(
        86_400.0, "The most seconds of one core that a fit may be estimated to take."
    )
    max_time_budget_seconds: float = setting(86_400.0, "The longest time budget of one fit.")
    max_connections: int = setting(
        4096, "Connections of one process; beyond, the one that waits longest goes.", least=1
    )
    max_connections_per_address: int = setting(1024, "The same for those from one address.", least=1)
    send_timeout_seconds: float = setting(20.0, "How long a client may leave an answer unread before it is cut off.")
    heavy_threads: int = setting(4, "Threads for what may take long, such as large predictions and plots.", least=2)
    max_work_seconds: float = setting(30.0, "How long one request may be worked on.")
    header_timeout_seconds: float = setting(10.0, "How long the headers of a request may take to arrive.")
    upload_timeout_seconds: float = setting(60.0, "How long a body, or each 16 MiB of it, may take to arrive.")
    serve_rows: int = setting(1, "Whether the owner of a dataset can read its rows back: 1 or 0.")
    model_cache_bytes: int = setting(256 * 1024 * 1024, "Decoded models that one process keeps in memory.")
    model_check_seconds: float = setting(1.0, "How long a cached model is served unasked whether it still exists.")

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> ServiceSettings:
        """Read all variables, and say which one is wrong."""
        settings = super().from_environment(environ)
        return cast("ServiceSettings", settings)

    @cached_property
    def limits(self) -> Limits:
        """How large a body may be."""
        return Limits(self.max_body_bytes, self.max_rows, self.max_columns, sparse_columns=self.max_sparse_columns)
