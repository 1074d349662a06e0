"""Health, readiness, metrics."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from service import examples
from service.dependencies import AdminTenant, ContextDep
from service.openapi import problems
from service.schemas import HealthOut, ReadyOut
from worker.store.errors import StoreUnavailable
from worker.store.records import WorkerHealth

router = APIRouter(tags=["operation"])

NOBODY = WorkerHealth(workers=[], queued_fits=0, active_fits=0, unreadable_fits=0, claimed_at=None, moving=False)


@router.get("/healthz", operation_id="getHealth", summary="Is the process alive?", openapi_extra={"security": [{}]})
async def get_health() -> HealthOut:
    """Whether the process answers."""
    return HealthOut(status="ok")


@router.get(
    "/readyz",
    operation_id="getReadiness",
    summary="Can requests be served?",
    description="Ready means that the store answers, or that models are cached. With `for=fits` it means that a worker "
    "is alive and that queued work is taken up.",
    responses={503: {"description": "Not ready.", "model": ReadyOut}, **problems(422, keyless=True)},
    openapi_extra={"security": [{}]},
)
async def get_readiness(
    response: Response,
    context: ContextDep,
    purpose: Annotated[
        Literal["requests", "fits"], Query(alias="for", description="Readiness for requests or for fits.")
    ] = "requests",
) -> ReadyOut:
    """Whether the service can answer requests and run fits."""
    try:
        health, store_answers = await run_in_threadpool(context.pulse.health), True
    except StoreUnavailable:
        health, store_answers = NOBODY, False
    fits_move = store_answers and bool(health.workers) and health.moving
    ready = fits_move if purpose == "fits" else store_answers or len(context.models) > 0
    if not ready:
        response.status_code = 503
    return ReadyOut(
        status="ready" if ready else "not ready",
        store=store_answers,
        cached_models=len(context.models),
        workers=len(health.workers),
        queued_fits=health.queued_fits,
        active_fits=health.active_fits,
        unreadable_fits=health.unreadable_fits,
        moving=fits_move,
    )


@router.get(
    "/metrics",
    operation_id="getMetrics",
    summary="Get metrics for Prometheus",
    response_class=PlainTextResponse,
    responses={200: {"content": {"text/plain": {"example": examples.METRICS}}}, **problems()},
)
def get_metrics(context: ContextDep, tenant: AdminTenant) -> Response:
    """Metrics of this service and of all workers."""
    return Response(context.metrics.render(), media_type=CONTENT_TYPE_LATEST)
