"""Aliases: names for models, which can be moved from one model to another."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Header, Path, Request, Response

from service import examples
from service.dependencies import Body, ContextDep, FitTenant, PredictTenant
from service.intake.body import parse
from service.intake.formats import JSON_ONLY, codec_for_body
from service.openapi import ETAG, LOCATION, body, problems
from service.schemas import AliasList, AliasOut, AliasPut

router = APIRouter(prefix="/v1/aliases", tags=["models"])

Alias = Annotated[
    str,
    Path(
        description="Letters, digits, dots and hyphens.",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]{0,63}$",
        examples=["champion"],
    ),
]
IfMatch = Annotated[str | None, Header(description="The ETag that the alias must have, or `*`: the alias must exist.")]
IfNoneMatch = Annotated[str | None, Header(description="`*`: the alias must not exist yet.")]
NO_VERSION = -1  # a version that no alias ever has


@router.get("", operation_id="listAliases", summary="List aliases", responses=problems())
def list_aliases(context: ContextDep, tenant: PredictTenant) -> AliasList:
    """All aliases, by name."""
    return AliasList(data=list(map(AliasOut.of, context.store.models.aliases(tenant))))


@router.get(
    "/{alias}",
    operation_id="getAlias",
    summary="Get an alias",
    responses={200: {"headers": {"ETag": ETAG}}, **problems(404, 422)},
)
def get_alias(response: Response, context: ContextDep, tenant: PredictTenant, alias: Alias) -> AliasOut:
    """The model that an alias names."""
    record = context.store.models.get_alias(tenant, alias)
    response.headers["ETag"] = f'"{record.version}"'
    return AliasOut.of(record)


@router.put(
    "/{alias}",
    operation_id="putAlias",
    summary="Create or move an alias",
    responses={
        200: {"description": "The alias was moved.", "headers": {"ETag": ETAG}},
        201: {
            "description": "The alias is new.",
            "model": AliasOut,
            "headers": {"ETag": ETAG, "Location": LOCATION},
        },
        **problems(400, 404, 408, 410, 412, 413, 415, 422),
    },
    openapi_extra=body("AliasPut", shown={"champion": {"model_id": examples.MODEL_ID}}),
)
def put_alias(
    request: Request,
    response: Response,
    context: ContextDep,
    tenant: FitTenant,
    alias: Alias,
    content: Body,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> AliasOut:
    """Create an alias, or move it to another model; with If-Match only if its version is the given one."""
    codec_for_body(request.headers.get("content-type"), JSON_ONLY)
    wanted = parse(AliasPut, content)
    expected = expected_version(if_match, if_none_match)
    if if_match == "*":
        expected = context.store.models.get_alias(tenant, alias).version
    record, created = context.store.models.put_alias(tenant, alias, wanted.model_id, expected_version=expected)
    response.status_code = 201 if created else 200
    response.headers["ETag"] = f'"{record.version}"'
    if created:
        response.headers["Location"] = f"{request.scope.get('root_path', '')}/v1/aliases/{alias}"
    return AliasOut.of(record)


@router.delete(
    "/{alias}",
    operation_id="deleteAlias",
    summary="Delete an alias",
    status_code=204,
    responses=problems(404, 412, 422),
)
def delete_alias(context: ContextDep, tenant: FitTenant, alias: Alias, if_match: IfMatch = None) -> None:
    """Delete an alias; its model is kept."""
    context.store.models.delete_alias(tenant, alias, expected_version=expected_version(if_match, None))


def expected_version(if_match: str | None, if_none_match: str | None) -> int | None:
    """The version that is expected: 0 for no alias, None for any. A malformed ETag matches no version."""
    if if_none_match == "*":
        return 0
    if if_match is None or if_match == "*":
        return None
    found = re.fullmatch(r'"(\d{1,9})"', if_match, flags=re.ASCII)
    return int(found[1]) if found else NO_VERSION
