"""The methods that a fit can use."""

from __future__ import annotations

from fastapi import APIRouter

from service.dependencies import PredictTenant
from service.methods import MethodList, all_methods
from service.openapi import problems

router = APIRouter(prefix="/v1/methods", tags=["fits"])


@router.get("", operation_id="listMethods", summary="List the methods and their parameters", responses=problems())
def list_methods(tenant: PredictTenant) -> MethodList:
    """The methods that `POST /v1/fits` accepts."""
    return all_methods()
