"""Sample datasets, for a first look at the service."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field

from service import samples
from service.dependencies import PredictTenant
from service.openapi import problems
from worker.store.errors import NotFound

router = APIRouter(prefix="/v1/samples", tags=["samples"])

EXAMPLE: dict[str, Any] = {
    "name": "iris",
    "title": "Irises",
    "description": "Sepals and petals of three species.",
    "target": "species",
    "n_rows": 150,
    "n_features": 4,
    "n_classes": 3,
}
CSV_EXAMPLE = "sepal length (cm),sepal width (cm),species\n5.1,3.5,setosa\n"


class SampleOut(BaseModel):
    """A table that comes with the service."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    name: str
    title: str
    description: str
    target: str = Field(description="The column of labels.")
    n_rows: int
    n_features: int
    n_classes: int


class SampleList(BaseModel):
    """All samples."""

    data: list[SampleOut]


@router.get("", operation_id="listSamples", summary="List the sample datasets", responses=problems())
def list_samples(tenant: PredictTenant) -> SampleList:
    """Tables that come with the service."""
    return SampleList(data=[describe(sample) for sample in samples.SAMPLES.values()])


def describe(sample: samples.Sample) -> SampleOut:
    """The description of a sample, without its rows."""
    n_rows, n_features, n_classes = samples.shape(sample.name)
    return SampleOut(
        name=sample.name,
        title=sample.title,
        description=sample.description,
        target=sample.target,
        n_rows=n_rows,
        n_features=n_features,
        n_classes=n_classes,
    )


@router.get(
    "/{name}",
    operation_id="getSample",
    summary="Get a sample dataset as CSV",
    description="CSV that `createDataset` accepts as `text/csv`, with the sample's `target`.",
    response_class=Response,
    responses={
        200: {
            "description": "A header row, then one line per row.",
            "content": {"text/csv": {"schema": {"type": "string"}, "example": CSV_EXAMPLE}},
        },
        **problems(404),
    },
)
def get_sample(
    tenant: PredictTenant, name: Annotated[str, Path(description="A sample's name.", examples=["iris"])]
) -> Response:
    """The rows of one sample."""
    if name not in samples.SAMPLES:
        raise NotFound("sample", name)
    return Response(samples.as_csv(name), media_type="text/csv")
