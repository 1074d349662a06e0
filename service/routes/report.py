"""The card of a model as a document."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from melm.typing import ShouldStop
from service.dependencies import ContextDep, ModelId, PredictTenant
from service.errors import NotAcceptable
from service.intake.formats import preferred
from service.openapi import problems
from service.pictures import report
from service.schemas import ModelOut

router = APIRouter(prefix="/v1/models", tags=["models"])

TYPES = ["text/html", "application/json"]
CONTENT: dict[str, Any] = {"text/html": {"schema": {"type": "string"}, "example": "<!doctype html>..."}}


@router.get(
    "/{model_id}/report",
    operation_id="getReport",
    summary="Get the model's card as a document",
    description="A self-contained HTML file; or, depending on Accept, the model as `application/json`.",
    response_class=Response,
    responses={200: {"description": "The document.", "content": CONTENT}, **problems(404, 406, 410)},
)
async def get_report(request: Request, context: ContextDep, tenant: PredictTenant, model_id: ModelId) -> Response:
    """Picture, validation, loadings, data, parameters, versions, limits, and how to cite."""
    accept = request.headers.get("accept", "*/*")
    media_type = preferred(accept, TYPES)
    if media_type is None:
        raise NotAcceptable(accept, TYPES)

    def work(should_stop: ShouldStop) -> tuple[str, str]:
        cached = context.models.get(tenant, model_id, with_evidence=True)
        out = ModelOut.with_card(cached.record, cached.model)
        return cached.id, report.render(out, cached.model) if media_type == "text/html" else out.model_dump_json()

    id, content = await context.heavy.run(request, tenant, work)
    disposition = f'inline; filename="{id}.{media_type.rpartition("/")[2]}"'
    return Response(content, media_type=media_type, headers={"Vary": "Accept", "Content-Disposition": disposition})
