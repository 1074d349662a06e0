"""Rows for their owner: of a dataset as uploaded, of a model encoded and standardized."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from service import stored_rows, training_features
from service.dependencies import Context, ContextDep, DatasetId, FitTenant, ModelId
from service.errors import Forbidden, NotAcceptable
from service.intake.formats import preferred
from service.openapi import problems
from service.schemas import RowsPageOut
from worker.store.errors import NotFound

router = APIRouter(prefix="/v1")

BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
MAX_CHOSEN = 1000  # row numbers or ids; more do not fit into a URL


@router.get(
    "/datasets/{dataset_id}/rows",
    tags=["datasets"],
    operation_id="listRows",
    summary="Get rows of a dataset",
    description="A page of rows as JSON, `text/csv`, `application/vnd.apache.arrow.stream` or `application/x-npz`, "
    "depending on Accept. If more rows follow, `next_offset` and a `Link` header give the next page. Columns that were "
    "left out when the dataset was stored are not included. `MELM_SERVE_ROWS=0` disables this operation.",
    response_model=RowsPageOut,
    responses={
        200: {"headers": {"Link": {"description": "The next page.", "schema": {"type": "string"}}}},
        **problems(404, 406, 410, 422),
    },
)
def list_rows(
    request: Request,
    context: ContextDep,
    tenant: FitTenant,
    dataset_id: DatasetId,
    rows: Annotated[list[int], Query(description="Only these row numbers.", max_length=MAX_CHOSEN)] = [],  # noqa: B006
    ids: Annotated[list[str], Query(description="Only the rows with these ids.", max_length=MAX_CHOSEN)] = [],  # noqa: B006
    offset: Annotated[int, Query(ge=0, le=2**53, description="The number of rows to skip.")] = 0,
    limit: Annotated[int, Query(ge=1, le=100_000, description="The largest number of rows of a page.")] = 1000,
    raw: Annotated[bool, Query(description="Write text in CSV unchanged, even if it looks like a formula.")] = False,
) -> Response:
    """Some of the rows, in the order of upload or in the order in which they are requested."""
    check_served(context)
    media_type = chosen(request, stored_rows.MEDIA_TYPES)
    record = context.store.datasets.get(tenant, dataset_id)
    numbers = stored_rows.find_rows(context.store.datasets, tenant, record, rows, ids)
    page = stored_rows.read_page(context.store.datasets, tenant, record, numbers, offset, limit)
    content = stored_rows.encode(page, media_type, is_raw=raw)
    context.metrics.count_payload("out", media_type, len(content))
    headers = {"Vary": "Accept"}
    if page.next_offset is not None:
        asked = [(name, value) for name, value in request.query_params.multi_items() if name != "offset"]
        headers["Link"] = f'<?{urlencode([*asked, ("offset", page.next_offset)])}>; rel="next"'
    return Response(content, headers=headers, media_type=media_type)


@router.get(
    "/models/{model_id}/features",
    tags=["models"],
    operation_id="getModelFeatures",
    summary="Get the features of the training rows",
    description="The training rows as the model sees them: encoded and standardized, as a float32 matrix. At most "
    f"{training_features.MAX_ROWS:,} rows and {training_features.MAX_CELLS:,} cells; beyond that, a random sample. "
    "`application/x-npy` is the matrix `X` alone; `application/x-npz` has `row_numbers` in the dataset, `codes` of the "
    "classes, `center`, `scale` (zero for a constant feature) and `feature_names` beside it.",
    response_class=Response,
    responses={
        200: {"description": "The rows.", "content": {"application/x-npy": BINARY}},
        **problems(404, 406, 410),
    },
)
def get_features(request: Request, context: ContextDep, tenant: FitTenant, model_id: ModelId) -> Response:
    """The features of the training rows, from which a picture can be rotated."""
    check_served(context)
    media_type = chosen(request, training_features.MEDIA_TYPES)
    record = context.store.models.get(tenant, model_id)
    if record.dataset_id is None:
        raise NotFound("dataset of the imported model", record.id)
    dataset = context.store.datasets.get(tenant, record.dataset_id)
    model = context.models.get(tenant, record.id).model
    features = training_features.read_features(context.store.datasets, tenant, dataset, model)
    content = features.encode(media_type)
    context.metrics.count_payload("out", media_type, len(content))
    return Response(content, headers={"Vary": "Accept"}, media_type=media_type)


def check_served(context: Context) -> None:
    """Refuse if the operator has disabled the download of rows."""
    if not context.settings.serve_rows:
        raise Forbidden("the download of rows is disabled: MELM_SERVE_ROWS is 0")


def chosen(request: Request, offered: list[str]) -> str:
    """The media type of the answer."""
    accept = request.headers.get("accept", "*/*")
    media_type = preferred(accept, offered)
    if media_type is None:
        raise NotAcceptable(accept, offered)
    return media_type
