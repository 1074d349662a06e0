"""API keys: each belongs to a tenant and has a scope.

Keys are lines of a file (`MELM_KEYS_FILE`, which `melm keys` writes) or of a variable (`MELM_KEYS`); name and time are
optional:

    # tenant  scope  SHA-256 of the key                                                name    created
    acme      fit    9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  laptop  2026-11-18T09:30:00Z

Only the hash is stored. Each scope includes the previous ones: `predict` reads and uses models, `fit` creates and
deletes datasets, fits and models, `admin` also reads the metrics. The file is reloaded when it changes.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from pathlib import Path

from worker.store.errors import SettingsError

PLAIN_NAME = re.compile(r"[A-Za-z0-9._@+-]{1,64}")
CHECK_SECONDS = 1.0  # how often the key file is checked for changes
logger = logging.getLogger(__name__)


class Scope(IntEnum):
    """The permissions of a key; each scope includes the previous ones."""

    PREDICT = 1
    FIT = 2
    ADMIN = 3


@dataclass(frozen=True)
class Principal:
    """The tenant and scope of a request."""

    tenant: str
    scope: Scope


@dataclass(frozen=True)
class Key:
    """A stored key. A key without a name is named by the beginning of its hash."""

    digest: bytes
    principal: Principal
    name: str
    created_at: datetime | None = None


def digest_of(token: str) -> bytes:
    """The hash of a key. Keys are long and random, so a hash without salt is enough."""
    return hashlib.sha256(token.encode()).digest()


def parse_keys(text: str, source: str = "the keys") -> list[Key]:
    """Parse keys. An error names the number of an invalid line, but not its content, which may be secret."""
    keys = []
    for number, line in enumerate(text.splitlines(), 1):
        if words := line.partition("#")[0].split():
            try:
                keys.append(parse_key(*words))
            except (TypeError, ValueError, KeyError):
                expected = "tenant, predict|fit|admin, SHA-256 in hex, and perhaps name and time"
                raise SettingsError(f"Line {number} of {source} is not: {expected}.") from None
    return keys


def parse_key(tenant: str, scope: str, digest: str, name: str | None = None, created_at: str | None = None) -> Key:
    """Parse the words of a line."""
    if len(bytes.fromhex(digest)) != hashlib.sha256().digest_size:
        raise ValueError("not a SHA-256")
    return Key(
        bytes.fromhex(digest),
        Principal(check_tenant(tenant), Scope[scope.upper()]),
        digest[:8] if name is None else check_name(name, "key"),
        None if created_at is None else datetime.fromisoformat(created_at),
    )


def check_tenant(name: str) -> str:
    """Check the name of a tenant, which is part of Redis keys."""
    return check_name(name, "tenant")


def check_name(name: str, noun: str) -> str:
    """Check a name, which appears in lines of the file, in logs and in Redis keys."""
    if PLAIN_NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} is no {noun} name: at most 64 letters, digits and ._@+-")
    return name


class Keyring:
    """The current keys, from setting and file."""

    def __init__(self, text: str = "", file: Path | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_open = not text and file is None  # keys are not configured: all local users have full access
        self._given = parse_keys(text.replace(";", "\n"), "MELM_KEYS")
        self._keys = self._given
        self._file = file
        self._clock = clock
        self._checked_at = clock()
        self._stamp = (0, 0, 0)
        self._load()

    def find(self, token: str) -> Principal | None:
        """The principal of a key, or None. Compares with every key, so that the lookup takes constant time."""
        self._refresh()
        digest = digest_of(token)
        found = None
        for key in self._keys:
            if hmac.compare_digest(key.digest, digest):
                found = key.principal
        return found

    @property
    def n_tenants(self) -> int:
        """The number of tenants with keys."""
        return len({key.principal.tenant for key in self._keys})

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
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
            if stamp != self._stamp:
                self._keys = self._given + parse_keys(self._file.read_text(), str(self._file))
                self._stamp = stamp
        except FileNotFoundError:
            raise SettingsError(f"There is no key file {self._file}; `melm keys create` makes one.") from None
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"The key file {self._file} cannot be read: {error}.") from None
