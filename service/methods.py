"""Descriptions of all methods, from which page, command line and documentation are built."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from melm.methods import METHODS
from melm.methods.base import Method
from service.schemas import ValidationIn, params_of

EXAMPLE: dict[str, Any] = {
    "data": [
        {
            "name": "pca",
            "title": "Principal Component Analysis",
            "description": "The directions of largest variance, whatever the classes.",
            "orthonormal": True,
            "common": True,
            "parameters": [
                {
                    "name": "n_components",
                    "description": "Dimensions of the projection.",
                    "default": 2,
                    "accepts": {"type": "integer", "minimum": 1},
                }
            ],
        }
    ],
    "validation": {"folds": 5, "repeats": 1, "permutations": 0, "bootstraps": 0},
}


class ParameterOut(BaseModel):
    """A parameter of a method."""

    name: str
    description: str
    default: Any = Field(description="The default value.")
    accepts: dict[str, Any] = Field(description="The JSON Schema of its values.")


class MethodOut(BaseModel):
    """A method and its parameters."""

    name: str
    title: str
    description: str
    orthonormal: bool = Field(description="Whether the columns of its projections are orthonormal.")
    common: bool = Field(description="Whether it is one of the most common methods.")
    parameters: list[ParameterOut]


class MethodList(BaseModel):
    """All methods, the most common ones first."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    data: list[MethodOut]
    validation: ValidationIn = Field(description="The default validation of a fit.")


@cache
def all_methods() -> MethodList:
    """All methods, cached because they do not change."""
    methods = sorted(METHODS.values(), key=lambda method: (method.name != "melm", not method.common, method.title))
    return MethodList(data=[describe(method) for method in methods], validation=ValidationIn())


def describe(method: Method[Any]) -> MethodOut:
    """One method. Its parameters come from the model that checks the body of a fit."""
    properties = params_of(method.name).model_json_schema()["properties"]
    return MethodOut(
        name=method.name,
        title=method.title,
        description=method.description,
        orthonormal=method.orthonormal,
        common=method.common,
        parameters=[
            ParameterOut(
                name=name,
                description=schema["description"],
                default=schema["default"],
                accepts={key: value for key, value in schema.items() if key not in ("title", "description", "default")},
            )
            for name, schema in properties.items()
        ],
    )
