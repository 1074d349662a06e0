"""The settings of store and worker, read once at the entry point from `MELM_*` variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from worker.store.errors import SettingsError


def setting(default: Any, meaning: str, least: int = 0) -> Any:
    """A field of `Settings` with what it means; the operations page lists all of them."""
    return field(default=default, metadata={"meaning": meaning, "least": least})


@dataclass(frozen=True)
class Settings:
    """One field per variable: `lease_seconds` is read from `MELM_LEASE_SECONDS`. Zero for a lifetime means forever."""

    redis_url: str = setting("redis://127.0.0.1:6379/0", "The server: redis://, rediss:// or unix://.")
    store_timeout_seconds: float = setting(
        2.0, "How long one call to the server may take before the server counts as unavailable."
    )
    store_folder: str = setting(
        "", "The server's data folder, if it is on this machine: its free disk space is then watched."
    )
    store_reserve_bytes: int = setting(
        512 << 20, "Disk space to keep free beside a copy of all data; with less, nothing new is accepted."
    )
    lease_seconds: float = setting(
        30.0, "Lease timeout: a unit whose worker has not renewed its lease for this long is given to another worker."
    )
    renew_seconds: float = setting(
        5.0, "Heartbeat interval: how often a worker renews its leases and reports that it is alive."
    )
    sweep_seconds: float = setting(5.0, "Sweep interval: how often lost work is looked for.")
    cancel_poll_seconds: float = setting(0.5, "How often a worker checks whether its units are still wanted.")
    kill_seconds: float = setting(5.0, "How long a canceled unit may go on before its process is killed.")
    unit_seconds: float = setting(1800.0, "The longest time that a unit may run at a stretch; then it is given up.")
    slice_seconds: float = setting(
        10.0, "Time slice: a unit that runs longer is paused while others run, if its method can resume it."
    )
    turn_seconds: float = setting(0.25, "How long a process stays with one fit while other fits of its tenant wait.")
    window: int = setting(8, "How many leases of one fit there may be at once.", least=1)
    max_attempts: int = setting(3, "How often a unit may crash its process before it is given up.", least=1)
    max_tenant_bytes: int = setting(0, "Bytes per tenant; zero: half of the store where there are several tenants.")
    max_datasets: int = setting(10_000, "Datasets per tenant; more are refused.")
    max_models: int = setting(10_000, "Models per tenant; more are refused.")
    max_aliases: int = setting(1_000, "Aliases per tenant; more are refused.")
    max_active_fits: int = setting(1000, "Active fits per tenant; more are refused.")
    max_queued_fits: int = setting(500, "Fits per tenant that nobody has begun; more are refused.")
    dataset_lifetime_seconds: float = setting(0.0, "How long a dataset is kept after it was stored.")
    fit_lifetime_seconds: float = setting(30 * 86400.0, "How long a fit is kept after it has ended.")
    model_lifetime_seconds: float = setting(0.0, "How long a model is kept that no alias names.")
    tombstone_seconds: float = setting(30 * 86400.0, "How long an expired or deleted resource is remembered as gone.")
    idempotency_seconds: float = setting(86400.0, "How long an idempotency key is remembered.")
    worker_processes: int = setting(
        os.cpu_count() or 1, "Processes of one worker; by default as many as cores.", least=1
    )
    process_memory_bytes: int = setting(
        1 << 30,
        "A worker process that has used more memory is replaced when it is done with its fit.",
        1 << 20,
    )
    dataset_cache_bytes: int = setting(
        1 << 30, "Size of the datasets that a worker caches, in files that its processes share."
    )
    dataset_cache_folder: str = setting("", "Where those files are; by default a folder for temporary files.")
    stalled_seconds: float = setting(60.0, "Stall timeout: fits wait, and no unit was leased for this long.")

    @property
    def alive_seconds(self) -> float:
        """How long after its last heartbeat a worker counts as alive."""
        return 3 * self.renew_seconds

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Settings:
        """Read all variables, and say which one is wrong."""
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
