"""Identifiers: a prefix for the type, and a ULID, so that they sort by time of creation."""

from __future__ import annotations

import secrets
import time

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32


def new_id(prefix: str) -> str:
    """A fresh identifier: 48 bits of milliseconds and 80 random ones, 26 characters after the prefix."""
    number = time.time_ns() // 1_000_000 << 80 | secrets.randbits(80)
    return f"{prefix}_" + "".join(ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
