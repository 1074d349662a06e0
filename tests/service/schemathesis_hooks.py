"""Read by schemathesis: how a body is written whose media type it does not know."""

from typing import Any

import schemathesis


@schemathesis.serializer("application/x-npz")
def write_bytes(context: Any, value: Any) -> bytes:
    """Bytes as they are."""
    return bytes(value) if isinstance(value, bytes | bytearray) else str(value).encode()
