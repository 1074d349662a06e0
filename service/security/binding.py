"""The addresses that the service may listen on."""

from __future__ import annotations

import ipaddress

from service.security.keys import Keyring
from worker.store.errors import SettingsError


def check_binding(host: str, keyring: Keyring, user_header: str) -> None:
    """Refuse to listen on an address that other machines reach, if there are no keys."""
    if is_loopback(host) or not keyring.is_open or user_header:
        return
    raise SettingsError(
        f"will not listen on {host} without keys: everybody who reaches it could read and delete everything. "
        "Make one by `melm keys create` and name its file in MELM_KEYS_FILE, or name the proxy's user header in "
        "MELM_USER_HEADER, or listen on 127.0.0.1."
    )


def is_loopback(host: str) -> bool:
    """Whether the address is a loopback address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
