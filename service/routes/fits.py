"""Fits: submit, watch, cancel, retry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from service import examples, submission
from service.dependencies import (
    Body,
    Context,
    ContextDep,
    Cursor,
    FitId,
    FitTenant,
    IdempotencyDep,
    Limit,
    Until,
    WaitSeconds,
)
from service.idempotency import once
from service.intake.formats import JSON_ONLY, codec_for_body
from service.openapi import LOCATION, RETRY_AFTER, body, problems
from service.schemas import VARIANTS, EventOut, EventsOut, FitOut, PageOut, PreviewOut
from worker.store.errors import StoreUnavailable
from worker.store.records import FitRecord, Idempotency, Status, SubmitOutcome

router = APIRouter(prefix="/v1/fits", tags=["fits"])

HEARTBEAT_SECONDS = 15
BATCH_SECONDS = 0.05  # events within this time are sent together
ENDINGS = frozenset({"succeeded", "failed", "canceled"})
EVENT_ID = r"^[0-9]{1,15}(-[0-9]{1,15})?$"  # \d would also match digits of other scripts
ENDED_OR_NOT: dict[int | str, dict[str, Any]] = {
    200: {"description": "The fit has ended.", "model": FitOut, "headers": {"Location": LOCATION}},
    202: {"description": "The fit is active.", "headers": {"Location": LOCATION, "Retry-After": RETRY_AFTER}},
}


@router.post(
    "",
    operation_id="createFit",
    summary="Submit a fit",
    description="Answers 202 at once; or 200 if the fit has ended, within the time of `Prefer: wait=N` or because an "
    "equal fit has succeeded before (`reused`) and `force` is not set.",
    status_code=202,
    response_model=FitOut,
    responses={**ENDED_OR_NOT, **problems(400, 404, 408, 409, 410, 413, 415, 422)},
    openapi_extra=body(*(variant.__name__ for variant in VARIANTS.values()), shown=examples.FIT_CREATE),
)
async def create_fit(
    request: Request,
    context: ContextDep,
    tenant: FitTenant,
    content: Body,
    idempotency: IdempotencyDep,
    wait_seconds: WaitSeconds,
    until: Until = "end",
) -> Response:
    """Store the fit, wake the workers, and wait for as long as the client prefers."""
    codec_for_body(request.headers.get("content-type"), JSON_ONLY)
    record, outcome = await run_in_threadpool(submit, context, tenant, content, idempotency)
    request.scope["fit_id"] = record.id
    if wait_seconds and record.is_active:
        record = await context.watch.ended(tenant, record.id, wait_seconds, until_model=until == "model")
    return await answer(request, context, record, reused=outcome is SubmitOutcome.REUSED, accepted=True)


def submit(
    context: Context, tenant: str, content: bytes, idempotency: Idempotency | None
) -> tuple[FitRecord, SubmitOutcome]:
    """Parse a body and store the fit. Rows in the body are first stored as a dataset."""
    ask = submission.parse(content, context.settings.limits)
    store = context.store

    def make() -> tuple[FitRecord, SubmitOutcome]:
        wanted = submission.complete(ask, submission.dataset_of(ask, store, tenant), context.settings)
        return store.fits.submit(tenant, wanted, idempotency=idempotency)

    def find(fit_id: str) -> tuple[FitRecord, SubmitOutcome]:
        return store.fits.get(tenant, fit_id), SubmitOutcome.REPLAYED

    record, outcome = once(store, tenant, idempotency, find=find, make=make)
    if record.is_active:
        context.dispatcher.send()
    return record, outcome


async def answer(
    request: Request, context: Context, record: FitRecord, *, reused: bool = False, accepted: bool = False
) -> Response:
    """The response with a fit, and with Retry-After while it is active."""
    headers = {}
    if accepted:
        headers["Location"] = f"{request.scope.get('root_path', '')}/v1/fits/{record.id}"
    if record.is_active:
        headers["Retry-After"] = str(min(max(round((record.eta_seconds or 0) / 4), 1), 30))
    status = 202 if accepted and record.is_active else 200
    detail = await run_in_threadpool(status_detail, context) if record.status is Status.QUEUED else None
    content = FitOut.of(record, reused=reused, status_detail=detail).model_dump_json()
    return Response(content, status, headers, "application/json")


def status_detail(context: Context) -> str | None:
    """What a queued fit waits for, if known. An unavailable store is ignored here: the fit itself was already read."""
    with suppress(StoreUnavailable):
        if not context.pulse.health().workers:
            return "waiting: no worker is alive"
    return None


@router.get("", operation_id="listFits", summary="List fits, newest first", responses=problems(422))
def list_fits(
    context: ContextDep,
    tenant: FitTenant,
    status: Annotated[Status | None, Query(description="Only fits with this status.")] = None,
    name: Annotated[str | None, Query(description="Only fits with this name.", max_length=200)] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> PageOut[FitOut]:
    """A page of fits."""
    page = context.store.fits.page(tenant, status=status, name=name, limit=limit, cursor=cursor)
    return PageOut(data=list(map(FitOut.of, page.data)), next_cursor=page.next_cursor)


@router.get(
    "/{fit_id}",
    operation_id="getFit",
    summary="Get a fit",
    description="With `Prefer: wait=N` the response is sent when the fit has ended, or after N seconds; with "
    "`until=model` as soon as its model is available.",
    response_model=FitOut,
    responses={200: {"headers": {"Retry-After": RETRY_AFTER}}, **problems(404, 410, 422)},
)
async def get_fit(
    request: Request,
    context: ContextDep,
    tenant: FitTenant,
    fit_id: FitId,
    wait_seconds: WaitSeconds,
    until: Until = "end",
) -> Response:
    """One fit; with `Prefer: wait=N` after it has ended or N seconds have passed."""
    record = await context.watch.ended(tenant, fit_id, wait_seconds, until_model=until == "model")
    return await answer(request, context, record)


@router.get(
    "/{fit_id}/preview",
    operation_id="getFitPreview",
    summary="Preview the best start so far",
    description="Up to 2,000 rows, evenly spread over the dataset, in the projection of the best start so far. It may "
    "change after an event `start_done`. 204 before the first start is done and after the fit has ended.",
    response_model=PreviewOut,
    responses={204: {"description": "There is no preview."}, **problems(404, 410)},
)
def get_preview(context: ContextDep, tenant: FitTenant, fit_id: FitId) -> Response:
    """Some rows in the best projection so far."""
    content = context.store.fits.preview(tenant, fit_id)
    headers = {"Cache-Control": "no-cache"}
    if content is None:
        return Response(status_code=204, headers=headers)
    return Response(content, headers=headers, media_type="application/json")


@router.get(
    "/{fit_id}/events",
    operation_id="listFitEvents",
    summary="List a fit's events, oldest first",
    responses=problems(404, 410, 422),
)
def list_events(
    context: ContextDep,
    tenant: FitTenant,
    fit_id: FitId,
    after: Annotated[str, Query(description="Only events after the one with this id.", pattern=EVENT_ID)] = "0",
    limit: Limit = 100,
) -> EventsOut:
    """A page of events."""
    events = context.store.fits.events(tenant, fit_id, after=after, limit=limit)
    return EventsOut(data=list(map(EventOut.of, events)), next_cursor=events[-1].id if events else after)


@router.get(
    "/{fit_id}/events/stream",
    operation_id="streamFitEvents",
    summary="Follow a fit's events",
    description="Server-Sent Events: `id`, `event` (the type) and `data` (JSON). The stream resumes after "
    "`Last-Event-ID` and closes when the fit has ended. A comment is sent as a heartbeat after "
    f"{HEARTBEAT_SECONDS} seconds without events.",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Events as they happen.",
            "content": {"text/event-stream": {"schema": {"type": "string"}, "example": examples.STREAM}},
        },
        **problems(404, 410, 422),
    },
)
async def stream_events(
    context: ContextDep,
    tenant: FitTenant,
    fit_id: FitId,
    last_event_id: Annotated[str, Header(description="The id of the last event received.", pattern=EVENT_ID)] = "0",
) -> StreamingResponse:
    """Events as they happen."""
    await context.watch.fit(tenant, fit_id)  # 404 and 410 have to be sent before the stream begins
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(event_stream(context, tenant, fit_id, last_event_id), 200, headers, "text/event-stream")


async def event_stream(context: Context, tenant: str, fit_id: str, after: str) -> AsyncIterator[str]:
    """The text of the stream. If the store is unavailable it ends, and the client resumes after the last event."""
    try:
        is_active = (await context.watch.fit(tenant, fit_id)).is_active
        while True:
            timeout = HEARTBEAT_SECONDS if is_active else 0
            events = await context.watch.next_events(tenant, fit_id, after=after, timeout_seconds=timeout)
            for event in events:
                after = event.id
                yield f"id: {event.id}\nevent: {event.type}\ndata: {EventOut.of(event).model_dump_json()}\n\n"
            if not events and not is_active:
                return
            if not events:
                yield ": nothing new\n\n"
            if not events or events[-1].type in ENDINGS:
                is_active = (await context.watch.fit(tenant, fit_id)).is_active
            await asyncio.sleep(BATCH_SECONDS)
    except StoreUnavailable:
        return


@router.post(
    "/{fit_id}/cancel",
    operation_id="cancelFit",
    summary="Cancel a fit",
    description="Stops the work within seconds. Answers 202, or 200 if the fit had already ended.",
    status_code=202,
    response_model=FitOut,
    responses={**ENDED_OR_NOT, **problems(404, 410, 422)},
)
def cancel_fit(
    response: Response,
    context: ContextDep,
    tenant: FitTenant,
    fit_id: FitId,
    keep_best: Annotated[
        bool, Query(description="End as succeeded with the best start so far, if one is done.")
    ] = False,
) -> FitOut:
    """Cancel a fit, or end it early with the best start so far."""
    record, changed = context.store.fits.cancel(tenant, fit_id, keep_best=keep_best)
    if changed and record.is_active:
        context.dispatcher.send()
    response.status_code = 202 if changed else 200
    return FitOut.of(record)


@router.post(
    "/{fit_id}/retry",
    operation_id="retryFit",
    summary="Retry a fit that failed or was canceled",
    description="Continues from the starts that are already done.",
    status_code=202,
    responses={
        202: {"description": "The fit is active.", "headers": {"Retry-After": RETRY_AFTER}},
        **problems(404, 409, 410),
    },
)
def retry_fit(response: Response, context: ContextDep, tenant: FitTenant, fit_id: FitId) -> FitOut:
    """Queue a failed or canceled fit again."""
    record = context.store.fits.retry(tenant, fit_id)
    context.dispatcher.send()
    response.headers["Retry-After"] = "1"
    return FitOut.of(record)
