"""The explorer page."""

from __future__ import annotations

from importlib import resources

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

router = APIRouter(include_in_schema=False)

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "Referrer-Policy": "no-referrer",
}


@router.get("/")
def get_page() -> HTMLResponse:
    """The page itself."""
    return HTMLResponse((resources.files("service.web") / "index.html").read_text(), headers=HEADERS)
