"""Who asks, and what they may do: keys that belong to tenants and carry scopes.

Keys are lines of a file (`MELM_KEYS_FILE`) or of a variable (`MELM_KEYS`):

    # tenant   scope     SHA-256 of the key
    acme       fit       9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08

Only the hash is at rest. Each scope holds the ones before it: `predict` reads and asks models, `fit` makes and deletes
datasets, fits and models, `admin` also reads the metrics. A file that changes is read again without a restart.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from worker.contract.errors import SettingsError

TENANT_NAME = re.compile(r"[A-Za-z0-9._@+-]{1,64}")
CHECK_SECONDS = 1.0  # how long a changed key file may go unnoticed
logger = logging.getLogger(__name__)


class Scope(IntEnum):
    """What a key may do; each includes the ones before it."""

    PREDICT = 1
    FIT = 2
    ADMIN = 3


@dataclass(frozen=True)
class Principal:
    """Whose data a request sees, and what it may do with them."""

    tenant: str
    scope: Scope


@dataclass(frozen=True)
class Key:
    """A key at rest."""

    digest: bytes
    principal: Principal


def digest_of(token: str) -> bytes:
    """What is kept of a key. Keys are long and random, so that a plain hash is enough."""
    return hashlib.sha256(token.encode()).digest()


def parse_keys(text: str) -> list[Key]:
    """Keys out of lines; a line that cannot be understood is named, without its content."""
    keys = []
    for number, line in enumerate(text.replace(";", "\n").splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            tenant, scope, digest = words
            keys.append(Key(bytes.fromhex(digest), Principal(check_tenant(tenant), Scope[scope.upper()])))
            if len(keys[-1].digest) != hashlib.sha256().digest_size:
                raise ValueError
        except (ValueError, KeyError):
            expected = "tenant, predict|fit|admin, SHA-256 in hex"
            raise SettingsError(f"Line {number} of the keys is not: {expected}.") from None
    return keys


def check_tenant(name: str) -> str:
    """Tenants stand in storage keys, so their names are plain."""
    if TENANT_NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} is no tenant name: at most 64 letters, digits and ._@+-")
    return name


class Keyring:
    """The keys that are known now."""

    def __init__(self, text: str = "", file: Path | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._text = text
        self._file = file
        self._clock = clock
        self._checked_at = clock()
        self._stamp = (0, 0)
        self._keys = parse_keys(text)
        self._load()

    @property
    def is_open(self) -> bool:
        """No key was ever asked for: everybody on this machine may do everything."""
        return not self._text and self._file is None

    def find(self, token: str) -> Principal | None:
        """Whose key this is. Compares with every key, whichever it is, so that time says nothing."""
        self._refresh()
        digest = digest_of(token)
        found = None
        for key in self._keys:
            if hmac.compare_digest(key.digest, digest):
                found = key.principal
        return found

    def _refresh(self) -> None:
        now = self._clock()
        if self._file is None or now - self._checked_at < CHECK_SECONDS:
            return
        self._checked_at = now
        try:
            self._load()
        except SettingsError as error:
            logger.error("the keys stay as they were: %s", error)

    def _load(self) -> None:
        if self._file is None:
            return
        try:
            status = self._file.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if stamp != self._stamp:
                self._keys = parse_keys(self._text) + parse_keys(self._file.read_text())
                self._stamp = stamp
        except OSError as error:
            raise SettingsError(f"the key file cannot be read: {error.strerror}") from None


class RateLimit:
    """A token bucket per key and process: one second's worth may come at once."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._clock = clock
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def allows(self, key: bytes) -> bool:
        """Take one from the bucket, if there is one."""
        now = self._clock()
        left, at = self._buckets.get(key, (self._per_second, now))
        left = min(self._per_second, left + (now - at) * self._per_second)
        self._buckets[key] = (left - 1 if left >= 1 else left, now)
        return left >= 1


def check_binding(host: str, keyring: Keyring, user_header: str) -> None:
    """Refuse to open a service without keys to other machines."""
    if is_loopback(host) or not keyring.is_open or user_header:
        return
    raise SettingsError(
        f"will not listen on {host} without keys: everybody who reaches it could read and delete everything. "
        "Set MELM_KEYS_FILE or MELM_KEYS, or name the proxy's user header in MELM_USER_HEADER, or listen on 127.0.0.1."
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
