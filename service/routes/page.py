"""The explorer page: a document, its modules and its styles, as they stand in `service/web`."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.staticfiles import StaticFiles

router = APIRouter(include_in_schema=False)

FILES = StaticFiles(directory=Path(__file__).parents[1] / "web")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",  # asked for again each time, and answered 304: an upgrade shows at once
}


@router.get("/")
async def get_page(request: Request) -> Response:
    """The page itself."""
    return await get_file(request, "index.html")


@router.get("/web/{path:path}")
async def get_file(request: Request, path: str) -> Response:
    """What the page is made of."""
    response = await FILES.get_response(path, request.scope)
    response.headers.update(HEADERS)
    return response
