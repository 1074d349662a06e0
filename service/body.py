"""Request bodies, bounded while they arrive."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from service.errors import Invalid, Malformed, TooLarge, UnsupportedMediaType, UploadTimeout, as_field_error

M = TypeVar("M", bound=BaseModel)


async def read_body(request: Request, limit_bytes: int, timeout_seconds: float) -> bytes:
    """The whole body. One that is too large is refused as soon as that is known, not when it has been read."""
    if (encoding := request.headers.get("content-encoding", "identity")) != "identity":
        raise UnsupportedMediaType(f"content-encoding {encoding}", ["content-encoding identity"])
    try:
        async with asyncio.timeout(timeout_seconds):
            return await read_bounded(request, limit_bytes)
    except TimeoutError:
        raise UploadTimeout(f"the body did not arrive within {timeout_seconds:g} seconds") from None


def parse(model: type[M], content: bytes) -> M:
    """A small JSON body as a model."""
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        if any(each["type"] == "json_invalid" for each in error.errors()):
            raise Malformed("the body is not JSON") from None
        raise Invalid(map(as_field_error, error.errors())) from None


async def read_bounded(request: Request, limit_bytes: int) -> bytes:
    """The body up to the limit. What is beyond is dropped, so that the client comes to read the answer."""
    chunks: list[bytes] = []
    size = 0
    too_large = int(request.headers.get("content-length", 0)) > limit_bytes
    more = True
    while more and size <= 2 * limit_bytes:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise Malformed("the body was cut off")
        chunk = message.get("body", b"")
        more = message.get("more_body", False)
        size += len(chunk)
        too_large = too_large or size > limit_bytes
        if too_large:
            chunks.clear()
        else:
            chunks.append(chunk)
    if too_large:
        raise TooLarge(limit_bytes)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)
