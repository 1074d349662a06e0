"""The pages: the explorer, from the files in `service/web`, and the interactive reference of the HTTP interface."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.staticfiles import StaticFiles

router = APIRouter(include_in_schema=False)

FILES = StaticFiles(directory=Path(__file__).parents[1] / "web")
# Swagger UI comes as two files inside a package, so that no page loads anything from another host.
SWAGGER_UI = StaticFiles(packages=[("fastapi_standalone_docs", "static/swagger")])
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:{images}; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY.format(images=""),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",  # revalidated each time, so that an upgrade is visible at once
}


@router.get("/")
async def get_page(request: Request) -> Response:
    """The explorer."""
    return await get_file(request, "index.html")


@router.get("/web/{path:path}")
async def get_file(request: Request, path: str) -> Response:
    """A file of the explorer."""
    response = await FILES.get_response(path, request.scope)
    response.headers.update(HEADERS)
    return response


@router.get("/docs")
async def get_reference(request: Request) -> Response:
    """The interactive reference. Swagger UI draws its icons from data: addresses in its style sheet."""
    response = await get_file(request, "docs.html")
    response.headers["Content-Security-Policy"] = POLICY.format(images=" data:")
    return response


@router.get("/docs/{path:path}")
async def get_swagger_ui(request: Request, path: str) -> Response:
    """A file of Swagger UI."""
    response = await SWAGGER_UI.get_response(path, request.scope)
    response.headers.update(HEADERS)
    return response
