"""Every error a client can get, as a problem document (RFC 9457), and the one table from exception to status.

Exception
├── worker.contract.errors.*        what the store says: not found, gone, conflict, unavailable, ...
├── RequestValidationError          what FastAPI says of parameters in path, query and header
├── HTTPException                   what Starlette says: no such path, no such method
└── RequestError                    what the service says
    ├── Malformed                   a body that cannot be parsed
    ├── Unauthenticated, Forbidden  no key, or one without the scope
    ├── NotAcceptable               no answer in a media type that the client accepts
    ├── UploadTimeout               a body that does not arrive
    ├── TooLarge                    a body beyond the limit
    ├── UnsupportedMediaType        a body in a media type that no codec reads
    ├── Invalid                     a body that can be parsed but not used, with everything that is wrong
    └── TooManyRequests             a key that asks more often than it may
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from worker.contract import errors as store

PROBLEM_MEDIA_TYPE = "application/problem+json"
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FieldError:
    """One thing that is wrong: where (JSON Pointer), what, and how to mend it."""

    pointer: str
    detail: str
    fix: str | None = None

    def as_member(self) -> dict[str, str]:
        """The error as it stands in a problem document."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class RequestError(Exception):
    """A request that cannot be answered as it stands."""

    def __init__(self, detail: str, headers: Mapping[str, str] | None = None, **members: Any) -> None:
        super().__init__(detail)
        self.headers = dict(headers or {})
        self.members = members


class Malformed(RequestError):
    """The body cannot be parsed."""


class Unauthenticated(RequestError):
    """No key, or one that is not known."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, headers={"WWW-Authenticate": "Bearer"})


class Forbidden(RequestError):
    """A known key without the scope that the call needs."""


class NotAcceptable(RequestError):
    """The client accepts none of the media types in which the answer can be given."""

    def __init__(self, accept: str, supported: Sequence[str]) -> None:
        super().__init__(f"no answer in {accept!r}; supported: {', '.join(supported)}", supported=list(supported))


class UploadTimeout(RequestError):
    """The body did not arrive in time."""


class TooLarge(RequestError):
    """The body is larger than the service takes."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"the body is larger than {limit_bytes} bytes", limit_bytes=limit_bytes)


class UnsupportedMediaType(RequestError):
    """No codec reads the body."""

    def __init__(self, media_type: str, supported: Sequence[str]) -> None:
        super().__init__(f"cannot read {media_type!r}; supported: {', '.join(supported)}", supported=list(supported))


class Invalid(RequestError):
    """The body was parsed and cannot be used."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = list(errors)
        super().__init__("; ".join(error.detail for error in self.errors[:3]))


class TooManyRequests(RequestError):
    """The key asks more often than it may."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__("too many requests with this key", headers={"Retry-After": str(retry_after_seconds)})


STATUS: dict[type[Exception], HTTPStatus] = {
    Malformed: HTTPStatus.BAD_REQUEST,
    Unauthenticated: HTTPStatus.UNAUTHORIZED,
    Forbidden: HTTPStatus.FORBIDDEN,
    NotAcceptable: HTTPStatus.NOT_ACCEPTABLE,
    UploadTimeout: HTTPStatus.REQUEST_TIMEOUT,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    UnsupportedMediaType: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    Invalid: HTTPStatus.UNPROCESSABLE_ENTITY,
    TooManyRequests: HTTPStatus.TOO_MANY_REQUESTS,
    store.NotFound: HTTPStatus.NOT_FOUND,
    store.Gone: HTTPStatus.GONE,
    store.Conflict: HTTPStatus.CONFLICT,
    store.IdempotencyMismatch: HTTPStatus.UNPROCESSABLE_ENTITY,
    store.PreconditionFailed: HTTPStatus.PRECONDITION_FAILED,
    store.TooManyFits: HTTPStatus.TOO_MANY_REQUESTS,
    store.StoreUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    store.NewerSchema: HTTPStatus.SERVICE_UNAVAILABLE,
    store.Damaged: HTTPStatus.INTERNAL_SERVER_ERROR,
}


def install(app: FastAPI, allowed_methods: Callable[[str], Sequence[str]]) -> None:
    """Answer every exception with a problem document."""

    def answer_http(request: Request, error: HTTPException) -> Response:
        """The problem of a path or method that does not exist."""
        headers = dict(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (methods := allowed_methods(request.url.path)):
            headers["Allow"] = ", ".join(methods)
        return problem(request, HTTPStatus(error.status_code), str(error.detail), headers)

    for kind in (RequestError, store.ContractError):
        app.add_exception_handler(kind, answer_known)
    app.exception_handler(RequestValidationError)(answer_validation)
    app.exception_handler(HTTPException)(answer_http)


def answer_known(request: Request, error: Exception) -> Response:
    """The problem of an exception that stands in the table."""
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), HTTPStatus.INTERNAL_SERVER_ERROR)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.error("%s", error)
    headers = dict(getattr(error, "headers", {}))
    if seconds := getattr(error, "retry_after_seconds", None):
        headers["Retry-After"] = str(seconds)
    members = dict(getattr(error, "members", {}))
    if isinstance(error, Invalid):
        members["errors"] = [each.as_member() for each in error.errors]
    elif status == HTTPStatus.UNPROCESSABLE_ENTITY:
        members["errors"] = [FieldError("", str(error)).as_member()]
    return problem(request, status, str(error), headers, **members)


def answer_validation(request: Request, error: RequestValidationError) -> Response:
    """The problem of parameters that FastAPI refused."""
    return answer_known(request, Invalid(map(as_field_error, error.errors())))


def as_field_error(error: Mapping[str, Any]) -> FieldError:
    """What pydantic says, as pointer and sentence."""
    pointer = "".join(f"/{part}" for part in error["loc"])
    return FieldError(pointer, error["msg"].removeprefix("Value error, "), (error.get("ctx") or {}).get("fix"))


def answer_unknown(request: Request) -> Response:
    """The problem of an exception that nobody expected; what it was stands in the log, under the request's id."""
    return problem(request, HTTPStatus.INTERNAL_SERVER_ERROR, "The service failed; its log says why.")


def problem(
    request: Request, status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None, **members: Any
) -> Response:
    """A problem document."""
    document = {
        "type": f"urn:melm:problem:{status.phrase.lower().replace(' ', '-')}",
        "title": status.phrase,
        "status": status.value,
        "detail": detail,
        "request_id": request.scope.get("request_id"),
        **members,
    }
    return Response(msgspec.json.encode(document), status, headers, PROBLEM_MEDIA_TYPE)
