"""Problem documents (RFC 9457): the responses to all exceptions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from service.errors import STATUS, FieldError, Invalid, RequestError
from service.intake.wording import as_field_errors
from worker.store.errors import ContractError

MEDIA_TYPE = "application/problem+json"
MAX_ERROR_BYTES = 12_000  # of all errors: a problem document stays below 16 KB
MAX_TEXT = 500  # characters of one text
logger = logging.getLogger(__name__)


def install(app: FastAPI, allowed_methods: Callable[[str], Sequence[str]]) -> None:
    """Answer every exception with a problem document."""

    def answer_http(request: Request, error: HTTPException) -> Response:
        """The problem of a path or method that does not exist."""
        headers = dict(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (methods := allowed_methods(request.url.path)):
            headers["Allow"] = ", ".join(methods)
        return problem(request, HTTPStatus(error.status_code), str(error.detail), headers)

    for kind in (RequestError, ContractError):
        app.add_exception_handler(kind, answer_known)
    app.exception_handler(RequestValidationError)(answer_validation)
    app.exception_handler(HTTPException)(answer_http)
    app.add_exception_handler(Exception, answer_unknown)


def answer_known(request: Request, error: Exception) -> Response:
    """The problem of an exception in the table `STATUS`."""
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), HTTPStatus.INTERNAL_SERVER_ERROR)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.error("%s", error if error.__cause__ is None else f"{error} {error.__cause__}")
    headers = dict(getattr(error, "headers", {}))
    if seconds := getattr(error, "retry_after_seconds", None):
        headers["Retry-After"] = str(seconds)
    members = dict(getattr(error, "members", {}))
    if isinstance(error, Invalid):
        members |= as_members(error.errors)
    elif status == HTTPStatus.UNPROCESSABLE_ENTITY:
        members["errors"] = [FieldError("", str(error)).as_member()]
    return problem(request, status, str(error), headers, **members)


def as_members(errors: Sequence[FieldError]) -> dict[str, Any]:
    """As many errors as fit into the size limit, and the number of the others."""
    shown: list[dict[str, Any]] = []
    n_bytes = 0
    for each in errors:
        member = {n: shorten(value) if isinstance(value, str) else value for n, value in each.as_member().items()}
        n_bytes += len(msgspec.json.encode(member))
        if n_bytes > MAX_ERROR_BYTES:
            return {"errors": shown, "n_more_errors": len(errors) - len(shown)}
        shown.append(member)
    return {"errors": shown}


def shorten(text: str) -> str:
    """Limit the length of a message: it may quote a part of the request."""
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def answer_validation(request: Request, error: RequestValidationError) -> Response:
    """The problem of invalid parameters that FastAPI has found."""
    return answer_known(request, Invalid(as_field_errors(error.errors())))


def answer_unknown(request: Request, error: Exception) -> Response:
    """The problem of an unexpected exception. The exception itself is in the log, under the id of the request."""
    return problem(request, HTTPStatus.INTERNAL_SERVER_ERROR, "Internal error; the log of the service has the details.")


def problem(
    request: Request, status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None, **members: Any
) -> Response:
    """A problem document."""
    document = {
        "type": f"urn:melm:problem:{status.phrase.lower().replace(' ', '-')}",
        "title": status.phrase,
        "status": status.value,
        "detail": shorten(detail),
        "request_id": request.scope.get("request_id"),
        **members,
    }
    return Response(msgspec.json.encode(document), status, headers, MEDIA_TYPE)
