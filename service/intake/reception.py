"""The body of a dataset as a dependency: received while it arrives, with its idempotency key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

from fastapi import Depends, Query, Request

from melm.tables.files import DRY_RUN_BYTES
from melm.tables.reading import Reading
from service.dependencies import Context, ContextDep, FitTenant, IdempotencyKey, RequestDigest
from service.errors import TooLarge
from service.intake.body import feed_body
from service.intake.form import MEDIA_TYPE, UploadForm
from service.intake.formats import codec_for_body, csv, json
from service.intake.table_query import TableQuery
from service.intake.upload import Reception, Upload
from worker.store.records import Idempotency

DryRun: TypeAlias = Annotated[
    bool, Query(description="Store nothing; answer how the table would be stored, and which problems it has.")
]
FileBytes: TypeAlias = Annotated[
    int | None,
    Query(
        description="With `dry_run`: the size of the file, if the body is only its beginning. Of CSV the first "
        f"{DRY_RUN_BYTES} bytes are read.",
        ge=0,
    ),
]


@dataclass(frozen=True)
class Received:
    """Labeled rows, or with `dry_run` their description, and the idempotency key of the request."""

    content: Upload | Reading
    idempotency: Idempotency | None


async def receive(
    request: Request,
    context: ContextDep,
    tenant: FitTenant,
    table: TableQuery,
    dry_run: DryRun = False,
    file_bytes: FileBytes = None,
    idempotency_key: IdempotencyKey = None,
) -> Received:
    """Receive a body. Nothing of it reaches the store before all of it has arrived and been checked."""
    settings = context.settings
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() == MEDIA_TYPE:
        return await receive_form(request, context, tenant, UploadForm(content_type), idempotency_key)
    codec = codec_for_body(request.headers.get("content-type"))
    limit_bytes = settings.max_body_bytes if codec is json.JSON else settings.max_upload_bytes
    reception = Reception(codec, replace(settings.limits, bytes=limit_bytes), table, is_dry=dry_run)
    digest = RequestDigest(request)
    n_bytes = 0

    def take(piece: bytes) -> None:
        nonlocal n_bytes
        n_bytes += len(piece)
        if idempotency_key is not None:
            digest.update(piece)
        if not (dry_run and codec is csv.CSV and n_bytes - len(piece) >= DRY_RUN_BYTES):
            reception.take(piece)

    await feed_body(request, limit_bytes, settings.upload_timeout_seconds, take)
    context.metrics.count_payload("in", codec.media_type, n_bytes)
    if dry_run:
        is_complete = codec is not csv.CSV or max(n_bytes, file_bytes or 0) <= min(n_bytes, DRY_RUN_BYTES)
        return Received(await context.heavy.run(request, tenant, lambda _: reception.inspect(is_complete)), None)
    upload = await context.heavy.run(request, tenant, lambda _: reception.finish())
    return Received(upload, digest.bind(idempotency_key))


async def receive_form(
    request: Request, context: Context, tenant: str, form: UploadForm, idempotency_key: str | None
) -> Received:
    """Receive a form, whose fields may follow the file that they apply to."""
    settings = context.settings
    await feed_body(request, settings.max_upload_bytes, settings.upload_timeout_seconds, form.take)
    form.finish()
    options, codec = form.options(request.query_params), form.codec
    limit_bytes = settings.max_body_bytes if codec is json.JSON else settings.max_upload_bytes
    if form.n_bytes > limit_bytes:
        raise TooLarge(limit_bytes)
    context.metrics.count_payload("in", codec.media_type, form.n_bytes)
    limits = replace(settings.limits, bytes=limit_bytes)
    reception = Reception(codec, limits, options.read_options(), is_dry=options.dry_run, content=form.content)
    if options.dry_run:
        return Received(await context.heavy.run(request, tenant, lambda _: reception.inspect()), None)
    upload = await context.heavy.run(request, tenant, lambda _: reception.finish())
    if options.name is not None:
        upload = replace(upload, fields={"name": options.name} | upload.fields)
    digest = RequestDigest(request)
    for name, value in form.fields:
        digest.update(f"{name}\n{len(value)}\n".encode() + value)
    digest.update(form.file_hash.digest())
    return Received(upload, digest.bind(idempotency_key))


ReceivedDep: TypeAlias = Annotated[Received, Depends(receive)]
