"""The OpenAPI 3.1 document: FastAPI's, completed with the bodies that the service parses itself and the key scheme.

`python -m service.openapi` writes it to openapi.yaml; a test checks that the file is current.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml
from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from service import examples, schemas
from service.problems import MEDIA_TYPE

FILE = Path(__file__).parent.parent / "openapi.yaml"
VERSION = "3.1.0"
REF = "#/components/schemas/{model}"
ALWAYS = (401, 403, 421, 429, 503)  # of every operation that needs a key
TAGS = {
    "datasets": "Labeled rows to learn from, addressed by their content.",
    "fits": "Asynchronous searches for a projection.",
    "models": "The results of fits: projections with class densities.",
    "inference": "Projections, predictions and scores of rows.",
    "samples": "Sample datasets.",
    "operation": "Health, readiness and metrics.",
}
BODIES: tuple[type[BaseModel], ...] = (
    schemas.DatasetCreate,
    schemas.TableCreate,
    schemas.DataIn,
    schemas.RowsByPosition,
    schemas.RowsByName,
    schemas.AliasPut,
    schemas.ProblemDocument,
    *schemas.VARIANTS.values(),
)


def problems(*statuses: int, keyless: bool = False) -> dict[int | str, dict[str, Any]]:
    """Problem responses for an operation, those of every operation included."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": REF.format(model="ProblemDocument")}}},
            **({"headers": {"Retry-After": RETRY_AFTER}} if status in (429, 503) else {}),
        }
        for status in sorted({*statuses, *(() if keyless else ALWAYS)})
    }


RETRY_AFTER = {"description": "Seconds to wait before the next request.", "schema": {"type": "integer"}}
LOCATION = {"description": "The path of the resource.", "schema": {"type": "string"}}
ETAG = {"description": "Changes when the resource does.", "schema": {"type": "string"}}


def body(*models: str, shown: dict[str, Any]) -> dict[str, Any]:
    """The request body of an operation that reads it itself: one of the models, as JSON."""
    references: list[dict[str, Any]] = [{"$ref": REF.format(model=model)} for model in models]
    schema: dict[str, Any] = references[0] if len(references) == 1 else {"anyOf": references}
    content = {"schema": schema, "examples": {name: {"value": value} for name, value in shown.items()}}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def binary_body(media_type: str) -> dict[str, Any]:
    """The request body of an operation that takes a file."""
    return {
        "requestBody": {"required": True, "content": {media_type: {"schema": {"type": "string", "format": "binary"}}}}
    }


def document(app: FastAPI) -> dict[str, Any]:
    """The whole document."""
    if app.openapi_schema is None:
        app.openapi_schema = build(app)
    return app.openapi_schema


def endpoint(app: FastAPI) -> Callable[[Request], Response]:
    """The document as a response. It is serialized once, because that takes milliseconds and needs no key."""
    content = cache(lambda: json.dumps(app.openapi()).encode())
    return lambda request: Response(content(), media_type="application/json")


def build(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document, completed."""
    made = get_openapi(
        title=app.title,
        version=app.version,
        openapi_version=VERSION,
        summary=app.summary,
        description=app.description,
        routes=app.routes,
        tags=[{"name": name, "description": description} for name, description in TAGS.items()],
        license_info={"name": "MIT", "identifier": "MIT"},
        servers=[{"url": app.root_path or "/"}],
    )
    _, definitions = models_json_schema([(model, "validation") for model in BODIES], ref_template=REF)
    made["components"]["schemas"] |= definitions["$defs"]
    made["components"]["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "Required if the service has keys."}
    }
    made["security"] = [{"key": []}, {}]
    for name, example in examples.OF_SCHEMAS.items():  # added here, because FastAPI removes every null from its own
        made["components"]["schemas"][name]["examples"] = [example]
    drop_unused(made)
    drop_null_parameters(made)
    return dict(made)


def drop_unused(made: dict[str, Any]) -> None:
    """Remove the 422 that FastAPI adds to every operation with parameters; the service answers with problems."""
    for operations in made["paths"].values():
        for operation in operations.values():
            if "application/json" in operation["responses"].get("422", {}).get("content", {}):
                del operation["responses"]["422"]
    for unused in ("HTTPValidationError", "ValidationError"):
        made["components"]["schemas"].pop(unused, None)


def drop_null_parameters(made: dict[str, Any]) -> None:
    """Remove null from the types of parameters: one in path, query or header is left out, but never null."""
    for operations in made["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                schema = parameter["schema"]
                kinds = [kind for kind in schema.pop("anyOf", ()) if kind != {"type": "null"}]
                schema.update(kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {})


def allowed_methods(app: FastAPI, path: str) -> list[str]:
    """The methods of all operations on a path; a router itself knows only the first that matches."""
    for template, operations in document(app)["paths"].items():
        if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)), path):
            return sorted(map(str.upper, operations))
    return []


def render(app: FastAPI) -> str:
    """The document as text of openapi.yaml."""
    return yaml.safe_dump(document(app), sort_keys=False, allow_unicode=True, width=120)


def main() -> None:
    """Write openapi.yaml."""
    from service.app import create_app
    from service.settings import ServiceSettings
    from worker.engine import CeleryDispatcher, open_engine

    settings = ServiceSettings()
    FILE.write_text(render(create_app(open_engine(settings), CeleryDispatcher(settings), settings)))


if __name__ == "__main__":
    main()
