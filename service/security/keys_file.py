"""The file of keys. It is replaced atomically, so that services that read it never see a partial change."""

from __future__ import annotations

import fcntl
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from service.security.keys import Key, Principal, Scope, check_name, check_tenant, digest_of, parse_keys
from worker.store.errors import SettingsError

TOKEN_PREFIX = "melm_"  # noqa: S105 - by which people and secret scanners recognize a key
TOKEN_BYTES = 32


class KeysFile:
    """Keys by name. Comments and lines written by hand are kept."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()  # replace the target of a symbolic link, not the link

    def read(self) -> list[Key]:
        """All keys, in the order of the file."""
        return parse_keys(self._text(), str(self.path))

    def create(self, name: str, tenant: str, scope: Scope) -> str:
        """Add a key and return it. It cannot be read again: the file contains only its hash."""
        try:
            principal = Principal(check_tenant(tenant), scope)
            check_name(name, "key")
        except ValueError as error:
            raise SettingsError(str(error)) from None
        token = TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
        with self._locked():
            text = self._text() if self.path.exists() else ""
            if any(key.name == name for key in parse_keys(text, str(self.path))):
                raise SettingsError(f"There is a key named {name!r} already in {self.path}; choose another name.")
            if text and not text.endswith("\n"):
                text += "\n"
            self._write(text + line_of(Key(digest_of(token), principal, name, datetime.now(UTC))))
        return token

    def revoke(self, name: str) -> None:
        """Remove a key. The tenant's data and other keys are kept."""
        with self._locked():
            text = self._text()
            if all(key.name != name for key in parse_keys(text, str(self.path))):
                raise SettingsError(f"There is no key named {name!r} in {self.path}.")
            kept = (
                line for line in text.splitlines(keepends=True) if all(key.name != name for key in parse_keys(line))
            )
            self._write("".join(kept))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold a lock on the folder, because each change replaces the file."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder = os.open(self.path.parent, os.O_RDONLY)
        except OSError as error:
            raise SettingsError(f"The folder {self.path.parent} cannot be used: {error.strerror}.") from None
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _text(self) -> str:
        try:
            return self.path.read_text()
        except FileNotFoundError:
            raise SettingsError(f"There is no key file {self.path}; `melm keys create` makes one.") from None
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"The key file {self.path} cannot be read: {error}.") from None

    def _write(self, text: str) -> None:
        """Replace the file atomically, with the owner and permissions of the old one."""
        try:
            descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=".keys-")
            new = Path(name)
            try:
                with os.fdopen(descriptor, "w") as file:
                    if self.path.exists():
                        status = self.path.stat()
                        os.fchown(descriptor, status.st_uid, status.st_gid)
                        os.fchmod(descriptor, status.st_mode & 0o660)
                    file.write(text)
                    file.flush()
                    os.fsync(descriptor)
                new.replace(self.path)
            finally:
                new.unlink(missing_ok=True)
        except OSError as error:
            raise SettingsError(f"The key file {self.path} cannot be written: {error.strerror}.") from None


def line_of(key: Key) -> str:
    """The line of a key."""
    created_at = "" if key.created_at is None else f" {key.created_at:%Y-%m-%dT%H:%M:%SZ}"
    principal = key.principal
    return f"{principal.tenant} {principal.scope.name.lower()} {key.digest.hex()} {key.name}{created_at}\n"
