"""A dataset's body on its way in, as a dependency: taken in while it arrives, its idempotency key bound to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from service.dependencies import ContextDep, FitTenant, IdempotencyKey, RequestDigest
from service.intake.body import feed_body
from service.intake.formats import codec_for_body, json
from service.intake.table_query import TableQuery
from service.intake.upload import Reception, Upload
from worker.store.records import Idempotency


@dataclass(frozen=True)
class Received:
    """Labeled rows, and the key of the request that sent them."""

    upload: Upload
    idempotency: Idempotency | None


async def receive(
    request: Request, context: ContextDep, tenant: FitTenant, table: TableQuery, idempotency_key: IdempotencyKey = None
) -> Received:
    """Take a body in. Nothing of it reaches the store before all of it is there and sound."""
    settings = context.settings
    codec = codec_for_body(request.headers.get("content-type"))
    limit_bytes = settings.max_body_bytes if codec is json.JSON else settings.max_upload_bytes
    reception = Reception(codec, replace(settings.limits, bytes=limit_bytes), table)
    digest = RequestDigest(request)
    n_bytes = 0

    def take(piece: bytes) -> None:
        nonlocal n_bytes
        n_bytes += len(piece)
        if idempotency_key is not None:
            digest.update(piece)
        reception.take(piece)

    await feed_body(request, limit_bytes, settings.upload_timeout_seconds, take)
    context.metrics.count_payload("in", codec.media_type, n_bytes)
    return Received(await run_in_threadpool(reception.finish), digest.bind(idempotency_key))


ReceivedDep: TypeAlias = Annotated[Received, Depends(receive)]
