"""The settings of store and worker, read once at the entry point from `MELM_*` variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from worker.store.errors import SettingsError


def setting(default: Any, meaning: str, least: int = 0) -> Any:
    """A field of `Settings` with its meaning, which docs/operations.md lists, and its least value."""
    return field(default=default, metadata={"meaning": meaning, "least": least})


@dataclass(frozen=True)
class Settings:
    """What API processes and workers both read from the environment: `lease_seconds` from `MELM_LEASE_SECONDS`.

    Zero for a lifetime means forever. `service.settings.ServiceSettings` adds what only the API needs.
    """

    redis_url: str = setting("redis://127.0.0.1:6379/0", "The URL of the Redis server: redis://, rediss:// or unix://.")
    store_timeout_seconds: float = setting(
        2.0, "Store timeout: how long a call to the server may take before the server counts as unavailable."
    )
    store_folder: str = setting(
        "", "The server's data folder, if it is on this machine; its free disk space is then monitored."
    )
    store_reserve_bytes: int = setting(
        512 << 20, "Disk space to keep free in addition to a copy of all data; with less, writes are refused."
    )
    lease_seconds: float = setting(
        30.0, "Lease timeout: a unit whose worker has not renewed its lease for this long is given to another worker."
    )
    renew_seconds: float = setting(
        5.0, "Heartbeat interval: how often a worker renews its leases and reports that it is alive."
    )
    sweep_seconds: float = setting(5.0, "Sweep interval: how often API processes and workers look for lost work.")
    cancel_poll_seconds: float = setting(0.5, "How often a worker checks whether its units were canceled.")
    kill_seconds: float = setting(5.0, "How long a canceled unit may continue before its process is killed.")
    stop_seconds: float = setting(
        30.0, "How long a worker may take to stop after SIGTERM before it is killed. Others run its units again."
    )
    unit_seconds: float = setting(
        1800.0, "Unit timeout: a unit that runs longer without a pause is stopped and counts as failed."
    )
    slice_seconds: float = setting(
        10.0, "Time slice: a unit that runs longer is paused while others run, if its method can resume it."
    )
    turn_seconds: float = setting(0.25, "How long a process stays with one fit while other fits of its tenant wait.")
    window: int = setting(8, "The largest number of leases of one fit at the same time.", least=1)
    max_attempts: int = setting(3, "How often a unit may crash its process before it counts as failed.", least=1)
    max_tenant_bytes: int = setting(
        0, "Bytes per tenant. Zero: half of the store with several tenants, no limit with one."
    )
    max_datasets: int = setting(10_000, "Datasets per tenant; more are refused.")
    max_models: int = setting(10_000, "Models per tenant; more are refused.")
    max_aliases: int = setting(1_000, "Aliases per tenant; more are refused.")
    max_active_fits: int = setting(1000, "Active fits per tenant; more are refused.")
    max_queued_fits: int = setting(500, "Queued fits per tenant, which no worker has begun; more are refused.")
    dataset_lifetime_seconds: float = setting(0.0, "How long a dataset is kept after its upload.")
    fit_lifetime_seconds: float = setting(30 * 86400.0, "How long a fit is kept after it has ended.")
    model_lifetime_seconds: float = setting(0.0, "How long a model without an alias is kept.")
    tombstone_seconds: float = setting(30 * 86400.0, "How long an expired or deleted resource answers 410 Gone.")
    idempotency_seconds: float = setting(86400.0, "How long an idempotency key is remembered.")
    worker_processes: int = setting(
        os.cpu_count() or 1, "Processes of one worker; by default one for each core.", least=1
    )
    process_memory_bytes: int = setting(
        1 << 30,
        "Memory limit: a worker process that has used more is replaced when it is done with its fit.",
        1 << 20,
    )
    dataset_cache_bytes: int = setting(
        1 << 30, "Size of the datasets that a worker caches, in files that its processes share."
    )
    dataset_cache_folder: str = setting("", "The folder of the dataset cache; by default a folder for temporary files.")
    stalled_seconds: float = setting(
        60.0, "Stall timeout: a worker exits if fits wait and no unit was leased for this long."
    )

    @property
    def alive_seconds(self) -> float:
        """How long after its last heartbeat a worker counts as alive."""
        return 3 * self.renew_seconds

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Settings:
        """Read all variables; raise `SettingsError` with the name of the one that is invalid."""
        values: dict[str, Any] = {}
        for each in fields(cls):
            text = environ.get(variable(each.name))
            if text is not None:
                values[each.name] = _parse(variable(each.name), text, type(each.default), each.metadata["least"])
        return cls(**values)


def variable(name: str) -> str:
    """The environment variable of a field."""
    return f"MELM_{name.upper()}"


def _parse(name: str, text: str, kind: type, least: int) -> Any:
    if kind is str:
        return text
    try:
        value = kind(text)
    except ValueError:
        raise SettingsError(f"{name} should be a number, not {text!r}.") from None
    if not least <= value < float("inf"):
        raise SettingsError(f"{name} should be a finite number of at least {least}, not {text!r}.")
    return value
