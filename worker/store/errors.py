"""The errors of store and engine.

ContractError
├── NotFound              never existed
├── Gone                  expired or deleted
├── Conflict              the resource's state does not allow it
│   └── IdempotencyInFlight
├── IdempotencyMismatch   the same key with another body
├── PreconditionFailed    an expected version is not the current one
├── QuotaExceeded         a quota of the tenant is reached
├── StoreUnavailable      the server did not answer
│   └── StoreFull         the server is at its memory limit
├── Damaged               a stored value is missing or does not match its hash
└── SettingsError         a MELM_* variable that cannot be read
"""

from __future__ import annotations


class ContractError(Exception):
    """The base class of all errors of store and engine."""


class NotFound(ContractError):
    """The resource does not exist and never did."""

    def __init__(self, kind: str, id: str) -> None:
        super().__init__(f"There is no {kind} {id!r}.")
        self.kind = kind
        self.id = id


class Gone(ContractError):
    """The resource has expired or was deleted."""

    def __init__(self, kind: str, id: str, reason: str) -> None:
        super().__init__(f"The {kind} {id!r} {'was deleted' if reason == 'deleted' else 'has expired'}.")
        self.kind = kind
        self.id = id
        self.reason = reason


class Conflict(ContractError):
    """The state of the resource does not allow the request."""


class IdempotencyInFlight(Conflict):
    """A request with the same idempotency key is still being answered."""

    retry_after_seconds = 1


class IdempotencyMismatch(ContractError):
    """The idempotency key was used before, with another body."""


class PreconditionFailed(ContractError):
    """The expected version is not the current one."""


class QuotaExceeded(ContractError):
    """A quota of the tenant is reached. If it is one of fits, waiting helps, because fits end."""

    def __init__(self, quota: str, used: int, limit: int) -> None:
        is_work = quota.endswith("fits")
        remedy = "Wait until some have ended." if is_work else "Delete what is no longer needed."
        super().__init__(f"The quota of {quota} is reached: {used:,} of {limit:,} are used. {remedy}")
        self.retry_after_seconds = 10 if is_work else None
        self.members = {"quota": quota, "used": used, "limit": limit}


class StoreUnavailable(ContractError):
    """The server did not answer in time, or not at all."""

    retry_after_seconds = 2


class StoreFull(StoreUnavailable):
    """The memory or disk of the server is almost full; writes are refused."""

    retry_after_seconds = 30


class Damaged(ContractError):
    """A stored value is missing or damaged."""


class SettingsError(ContractError):
    """A setting is invalid."""
