"""Datasets: upload, list, get, delete."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from melm.tables.reading import Reading
from service import examples
from service.dependencies import ContextDep, Cursor, DatasetId, FitTenant, Limit
from service.idempotency import once
from service.intake.reception import ReceivedDep
from service.openapi import LOCATION, body, problems
from service.schemas import DatasetOut, PageOut, ReadingOut

router = APIRouter(prefix="/v1/datasets", tags=["datasets"])

TABLES = """CSV, Excel, Arrow, Parquet and JSON `rows` are tables: columns of numbers, text and times, with missing
values. Every column has a role (`numeric`, `categorical`, `time`, `id`, `group`, `weight`, `info`, `ignore`, `target`),
inferred from its values and returned with the reason in the summary; `columns` sets it. The dialect of CSV is detected;
parameters override it."""
TABULAR = """The body may be JSON, `text/csv` with a header row, `application/x-npz` with arrays `X`, `y` and optionally
`feature_names` (for a sparse matrix the arrays that `scipy.sparse.save_npz` writes, instead of `X`),
`application/vnd.apache.arrow.stream` or `application/vnd.apache.parquet`, as the Content-Type says; or
`multipart/form-data` with the file as one part and the query parameters as fields."""
STORED_ONCE = "Equal content is stored once: uploading it again answers 200 with the existing dataset."


@router.post(
    "",
    operation_id="createDataset",
    summary="Upload a dataset",
    description=f"{TABULAR}\n\n{TABLES}\n\n{STORED_ONCE}",
    status_code=201,
    responses={
        200: {
            "description": "The existing dataset of this content; or, with `dry_run`, how the table would be stored.",
            "model": DatasetOut | ReadingOut,
            "headers": {"Location": LOCATION},
        },
        201: {"description": "Stored.", "model": DatasetOut, "headers": {"Location": LOCATION}},
        **problems(400, 408, 409, 410, 413, 415, 422),
    },
    openapi_extra=body(
        "DatasetCreate", "TableCreate", shown={"irises": examples.DATASET_CREATE, "a table": examples.TABLE_CREATE}
    ),
)
def create_dataset(
    request: Request,
    response: Response,
    context: ContextDep,
    tenant: FitTenant,
    received: ReceivedDep,
    name: Annotated[
        str | None, Query(description="A name, for media types whose body cannot contain one.", max_length=200)
    ] = None,
) -> DatasetOut | ReadingOut:
    """Store labeled rows, or with `dry_run` only describe what would be stored."""
    upload, idempotency = received.content, received.idempotency
    if isinstance(upload, Reading):
        response.status_code = 200
        return ReadingOut.of(upload)
    record, created = once(
        context.store,
        tenant,
        idempotency,
        find=lambda dataset_id: (
            context.store.datasets.get(tenant, dataset_id),
            idempotency is None or not context.store.requests.found(tenant, idempotency),
        ),
        make=lambda: context.store.datasets.create(
            tenant,
            upload.X,
            upload.y,
            feature_names=upload.feature_names,
            part=upload.part,
            info=upload.info,
            columns=upload.columns,
            n_unlabeled=upload.n_unlabeled,
            idempotency=idempotency,
            **{"name": name, **upload.fields},
        ),
    )
    response.status_code = 201 if created else 200
    response.headers["Location"] = f"{request.scope.get('root_path', '')}/v1/datasets/{record.id}"
    return DatasetOut.of(record)


@router.get("", operation_id="listDatasets", summary="List datasets, newest first", responses=problems(422))
def list_datasets(
    context: ContextDep,
    tenant: FitTenant,
    content_hash: Annotated[
        str | None, Query(description="Only the dataset with this content.", max_length=100)
    ] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> PageOut[DatasetOut]:
    """A page of summaries."""
    if content_hash is not None:
        found = context.store.datasets.find(tenant, content_hash)
        return PageOut(data=[] if found is None else [DatasetOut.of(found)], next_cursor=None)
    page = context.store.datasets.page(tenant, limit=limit, cursor=cursor)
    return PageOut(data=list(map(DatasetOut.of, page.data)), next_cursor=page.next_cursor)


@router.get("/{dataset_id}", operation_id="getDataset", summary="Get a dataset's summary", responses=problems(404, 410))
def get_dataset(context: ContextDep, tenant: FitTenant, dataset_id: DatasetId) -> DatasetOut:
    """The summary of one dataset."""
    return DatasetOut.of(context.store.datasets.get(tenant, dataset_id))


@router.delete(
    "/{dataset_id}",
    operation_id="deleteDataset",
    summary="Delete a dataset",
    status_code=204,
    responses=problems(404, 409, 410),
)
def delete_dataset(context: ContextDep, tenant: FitTenant, dataset_id: DatasetId) -> None:
    """Delete a dataset; 409 while a fit uses it."""
    context.store.datasets.delete(tenant, dataset_id)
