"""The separation of a model's training rows in another projection, for pictures that are rotated."""

from __future__ import annotations

import numpy as np
from fastapi import APIRouter, Request
from threadpoolctl import threadpool_limits

from service.dependencies import Context, ContextDep, FitTenant, ModelId
from service.errors import FieldError, Invalid
from service.inference.training_rows import separation
from service.openapi import problems
from service.schemas import SeparationIn, SeparationOut

router = APIRouter(prefix="/v1/models/{model_id}", tags=["models"])


@router.post(
    "/separation",
    operation_id="getSeparation",
    summary="Evaluate another projection of the training rows",
    description="Projects the training rows of the model by a projection V of its features. Both figures are "
    "in-sample, like those in the card.",
    responses=problems(400, 404, 410, 413, 415, 422),
)
async def post_separation(
    request: Request, context: ContextDep, tenant: FitTenant, model_id: ModelId, content: SeparationIn
) -> SeparationOut:
    """Divergence and leave-one-out score."""
    return await context.heavy.run(request, tenant, lambda _: separated(context, tenant, model_id, content))


def separated(context: Context, tenant: str, model_id: str, content: SeparationIn) -> SeparationOut:
    """Evaluate V on the training rows of the model."""
    cached = context.models.get(tenant, model_id)
    n_features = len(cached.model.projection)
    if len(content.V) != n_features or len({len(row) for row in content.V}) != 1:
        raise Invalid([FieldError("/V", f"is not a matrix of {n_features} rows", "send one row for each feature")])
    data = context.training_rows.read(tenant, cached)
    try:
        with threadpool_limits(1):
            divergence, score = separation(cached.model, data, np.array(content.V))
    except ValueError as error:
        raise Invalid([FieldError("/V", str(error))]) from None
    return SeparationOut(model_id=cached.id, divergence=divergence, leave_one_out_balanced_accuracy=score)
