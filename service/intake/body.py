"""Request bodies, with limits that apply while they arrive."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ValidationError

from service.errors import (
    Invalid,
    Malformed,
    TooLarge,
    UnsupportedMediaType,
    UploadTimeout,
)
from service.intake.memory import hold
from service.intake.wording import as_field_errors

M = TypeVar("M", bound=BaseModel)

PIECE_BYTES = 1 << 20  # large enough that handing it to another thread costs little
PACE_BYTES = 16 << 20  # the timeout is granted again for each of these


async def read_body(request: Request, limit_bytes: int, timeout_seconds: float) -> bytes:
    """The whole body."""
    chunks = []
    async for chunk in chunks_of(request, limit_bytes, timeout_seconds):
        hold(2 * len(chunk))  # once in pieces, once whole
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def feed_body(request: Request, limit_bytes: int, timeout_seconds: float, take: Callable[[bytes], None]) -> None:
    """Hand the body to `take`, in another thread and in pieces, while it arrives.

    When `take` refuses a piece, the rest is read and discarded, because many clients read no response before they have
    sent everything.
    """
    pending: list[bytes] = []
    n_pending = 0
    refusal: Exception | None = None
    async for chunk in chunks_of(request, limit_bytes, timeout_seconds):
        if refusal is not None:
            continue
        pending.append(chunk)
        n_pending += len(chunk)
        if n_pending >= PIECE_BYTES:
            try:
                await run_in_threadpool(take, b"".join(pending))
            except Exception as error:  # respond after the body, whatever the error
                refusal = error
            pending, n_pending = [], 0
    if refusal is not None:
        raise refusal
    if pending:
        await run_in_threadpool(take, b"".join(pending))


def parse(model: type[M], content: bytes) -> M:
    """A small JSON body as a model."""
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        if any(each["type"] == "json_invalid" for each in error.errors()):
            raise Malformed("the body is not JSON") from None
        raise Invalid(as_field_errors(error.errors(), json.loads(content), model)) from None


async def chunks_of(request: Request, limit_bytes: int, timeout_seconds: float) -> AsyncIterator[bytes]:
    """The body as it arrives, up to the limit. The rest is read and discarded; then the body is refused."""
    if (encoding := request.headers.get("content-encoding", "identity")) != "identity":
        raise UnsupportedMediaType(f"content-encoding {encoding}", ["content-encoding identity"])
    clock = asyncio.get_running_loop().time
    size, waited = 0, 0.0
    too_large = int(request.headers.get("content-length", 0)) > limit_bytes
    more = True
    while more and size <= 2 * limit_bytes:
        began = clock()
        try:
            async with asyncio.timeout(timeout_seconds * (1 + size // PACE_BYTES) - waited):
                message = await request.receive()
        except TimeoutError:
            seconds = waited + clock() - began
            raise UploadTimeout(f"only {size} bytes of the body arrived within {seconds:.0f} seconds") from None
        waited += clock() - began
        if message["type"] == "http.disconnect":
            raise Malformed("the body was cut off")
        chunk = message.get("body", b"")
        more = message.get("more_body", False)
        size += len(chunk)
        too_large = too_large or size > limit_bytes
        if not too_large:
            yield chunk
    if too_large:
        raise TooLarge(limit_bytes)
