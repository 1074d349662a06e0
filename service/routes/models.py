"""Models: list, import, get, download, plot, delete."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response

from melm.model import onnx as onnx_file
from melm.typing import ShouldStop
from service import examples
from service.dependencies import (
    Body,
    Context,
    ContextDep,
    Cursor,
    FitTenant,
    IdempotencyDep,
    Limit,
    ModelId,
    PredictTenant,
)
from service.errors import NotAcceptable
from service.idempotency import once
from service.inference.row_schema import row_schema
from service.intake.formats import codec_for_body, npy, preferred
from service.intake.model_import import read_model
from service.openapi import ETAG, LOCATION, binary_body, problems
from service.pictures import plot
from service.pictures.heading import heading_of
from service.schemas import ModelOut, ModelSummary, PageOut
from worker.store.errors import Gone, NotFound
from worker.store.records import ModelRecord

router = APIRouter(prefix="/v1/models", tags=["models"])

FILE_TYPES = ["application/x-npz", "application/x-npy", *(["application/x-onnx"] if find_spec("onnx") else [])]
BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
IfNoneMatch = Annotated[str | None, Header(description="An ETag that the client has; 304 if it is still current.")]
MaxPoints = Annotated[int, Query(ge=1, le=plot.MAX_POINTS, description="How many training rows are shown at most.")]
UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "Not modified.", "headers": {"ETag": ETAG}}}


@router.get("", operation_id="listModels", summary="List models, newest first", responses=problems(422))
def list_models(
    context: ContextDep, tenant: PredictTenant, limit: Limit = 20, cursor: Cursor = None
) -> PageOut[ModelSummary]:
    """A page of models, without their cards."""
    page = context.store.models.page(tenant, limit=limit, cursor=cursor)
    return PageOut(data=list(map(ModelSummary.of, page.data)), next_cursor=page.next_cursor)


@router.post(
    "",
    operation_id="importModel",
    summary="Import a model's file",
    description="Takes a file that `getModelFile` has written as `application/x-npz`.",
    status_code=201,
    responses={
        201: {"description": "Stored.", "headers": {"Location": LOCATION}},
        **problems(400, 408, 409, 410, 413, 415, 422),
    },
    openapi_extra=binary_body("application/x-npz"),
)
def import_model(
    request: Request,
    response: Response,
    context: ContextDep,
    tenant: FitTenant,
    content: Body,
    idempotency: IdempotencyDep,
    name: Annotated[str | None, Query(max_length=200)] = None,
) -> ModelOut:
    """Check and store a model that was made elsewhere."""
    codec_for_body(request.headers.get("content-type"), frozenset({"application/x-npz"}))
    model = read_model(content, context.settings.limits)
    record = once(
        context.store,
        tenant,
        idempotency,
        find=lambda model_id: context.store.models.get(tenant, model_id),
        make=lambda: context.store.models.import_file(
            tenant,
            data=content,
            card=model.card.model_dump(mode="json"),
            method=model.method,
            name=name,
            idempotency=idempotency,
        ),
    )
    response.headers["Location"] = f"{request.scope.get('root_path', '')}/v1/models/{record.id}"
    return ModelOut.with_card(record, model)


@router.get(
    "/{model_id}",
    operation_id="getModel",
    summary="Get a model and its card",
    responses={200: {"headers": {"ETag": ETAG}}, **UNCHANGED, **problems(404, 410)},
    response_model=ModelOut,
)
def get_model(
    context: ContextDep, tenant: PredictTenant, model_id: ModelId, if_none_match: IfNoneMatch = None
) -> Response:
    """A model with its projection and card."""
    record = context.store.models.get(tenant, model_id)
    headers = {"ETag": etag(record, "card")}
    if matches(if_none_match, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    cached = context.models.get(tenant, record.id, with_evidence=True)
    headers["ETag"] = etag(cached.record, "card")
    content = ModelOut.with_card(cached.record, cached.model).model_dump_json()
    return Response(content, headers=headers, media_type="application/json")


def etag(record: ModelRecord, kind: str) -> str:
    """An ETag. It contains the digest, which changes once, and the id, because an alias may move to another model."""
    return f'"{record.id}-{record.digest[:16]}-{kind}"'


def matches(header: str | None, current: str) -> bool:
    """Whether an If-None-Match or If-Match header names the current ETag."""
    return header is not None and (header.strip() == "*" or current in (tag.strip() for tag in header.split(",")))


@router.get(
    "/{model_id}/file",
    operation_id="getModelFile",
    summary="Download a model",
    description="Accept selects the format: the whole model as `application/x-npz`, the projection alone as "
    "`application/x-npy`, or projection and classifier as `application/x-onnx`, if the extra `onnx` is installed.",
    response_class=Response,
    responses={
        200: {
            "description": "The file.",
            "content": {"application/x-npz": BINARY},
            "headers": {"ETag": ETAG},
        },
        **UNCHANGED,
        **problems(404, 406, 410),
    },
)
def get_model_file(
    request: Request, context: ContextDep, tenant: PredictTenant, model_id: ModelId, if_none_match: IfNoneMatch = None
) -> Response:
    """The model as a file. No format contains pickled objects."""
    accept = request.headers.get("accept", "*/*")
    media_type = preferred(accept, FILE_TYPES)
    if media_type is None:
        raise NotAcceptable(accept, FILE_TYPES)
    record = context.store.models.get(tenant, model_id)
    suffix = media_type.removeprefix("application/x-")
    headers = {
        "ETag": etag(record, suffix),
        "Vary": "Accept",
        "Content-Disposition": f'attachment; filename="{record.id}.{suffix}"',
    }
    if matches(if_none_match, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    if suffix == "npz":
        record, content = context.store.models.read(tenant, record.id)
        headers["ETag"] = etag(record, suffix)
    else:
        model = context.models.get(tenant, record.id).model
        try:
            content = npy.write_npy(model.projection) if suffix == "npy" else onnx_file.dump(model)
        except onnx_file.TextColumns:
            raise NotAcceptable(accept, FILE_TYPES[:2]) from None
    return Response(content, headers=headers, media_type=media_type)


@router.get(
    "/{model_id}/schema",
    operation_id="getModelSchema",
    summary="Get the JSON Schema of one input row",
    responses=problems(404, 410),
)
def get_model_schema(context: ContextDep, tenant: PredictTenant, model_id: ModelId) -> dict[str, Any]:
    """The JSON Schema of a row given as an object."""
    cached = context.models.get(tenant, model_id)
    return row_schema(cached.model, f"A row for {cached.id}")


@router.delete(
    "/{model_id}",
    operation_id="deleteModel",
    summary="Delete a model",
    status_code=204,
    responses=problems(404, 409, 410),
)
def delete_model(context: ContextDep, tenant: FitTenant, model_id: ModelId) -> None:
    """Delete a model; 409 while an alias names it. A fit that is gathering evidence for it is canceled."""
    record = context.store.models.get(tenant, model_id)
    context.store.models.delete(tenant, model_id)
    context.models.drop(tenant, model_id)
    if record.fit_id is not None:
        with suppress(NotFound, Gone):
            context.store.fits.cancel(tenant, record.fit_id)


@router.get(
    "/{model_id}/plot",
    operation_id="getPlot",
    summary="Get the data of a plot of the model",
    responses=problems(404, 410, 422),
)
async def get_plot(
    request: Request,
    context: ContextDep,
    tenant: PredictTenant,
    model_id: ModelId,
    max_points: MaxPoints = plot.DEFAULT_POINTS,
) -> plot.Plot:
    """Densities for one component, a scatter plot with contours and boundary for two, pairs of axes for more."""
    return await context.heavy.run(request, tenant, partial(described, context, tenant, model_id, max_points))


def described(context: Context, tenant: str, model_id: str, max_points: int, should_stop: ShouldStop) -> plot.Plot:
    """The plot of a model with the evidence so far."""
    cached = context.models.get(tenant, model_id, with_evidence=True)
    return plot.describe(cached.model, cached.id, max_points, should_stop)


@router.get(
    "/{model_id}/plot.svg",
    operation_id="getPlotSvg",
    summary="Get a plot of the model",
    response_class=Response,
    responses={
        200: {
            "description": "The plot.",
            "content": {"image/svg+xml": {"schema": {"type": "string"}, "example": examples.SVG}},
        },
        **problems(404, 410, 422),
    },
)
async def get_plot_svg(
    request: Request,
    context: ContextDep,
    tenant: PredictTenant,
    model_id: ModelId,
    max_points: MaxPoints = plot.DEFAULT_POINTS,
) -> Response:
    """The plot as SVG."""

    def work(should_stop: ShouldStop) -> str:
        cached = context.models.get(tenant, model_id, with_evidence=True)
        record = context.store.models.get(tenant, cached.id)
        heading = heading_of(cached.model, record.name or cached.id, target_of(context, tenant, record))
        described = plot.describe(cached.model, cached.id, max_points, should_stop)
        return plot.draw(plot.with_axis_names(described, cached.model), heading)

    return Response(await context.heavy.run(request, tenant, work), media_type="image/svg+xml")


def target_of(context: Context, tenant: str, record: ModelRecord) -> str | None:
    """The name of the target column, if the model's dataset is a table that still exists."""
    if record.dataset_id is None:
        return None
    with suppress(Gone, NotFound):
        columns = context.store.datasets.get(tenant, record.dataset_id).columns or []
        return next((column.name for column in columns if column.role == "target"), None)
    return None
