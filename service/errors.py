"""All errors that a client can get, and their HTTP statuses. `problems` turns them into problem documents.

Exception
├── worker.store.errors.*        errors of the store: not found, gone, conflict, unavailable, ...
├── RequestValidationError          errors of FastAPI: parameters in path, query and header
├── HTTPException                   errors of Starlette: unknown path or method
└── RequestError                    errors of the service
    ├── Malformed                   a body that cannot be parsed
    ├── Unauthenticated, Forbidden  no key; one without the scope, or a page of another site
    ├── Misdirected                 a host that is not this service
    ├── NotAcceptable               no answer in a media type that the client accepts
    ├── UploadTimeout               a body that does not arrive
    ├── TooLarge                    a body beyond the limit
    ├── TooMuchWork                 an answer that takes too long
    ├── UnsupportedMediaType        a body in an unknown media type
    ├── Invalid                     a body that can be parsed but not used, with everything that is wrong
    ├── TooManyRequests             a key or user beyond its rate limit
    └── Busy                        other requests hold the memory that this one needs
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from http import HTTPStatus
from typing import Any

from melm.tables.problem import Fix, in_words
from worker.store import errors as store


@dataclass(frozen=True)
class FieldError:
    """One error: its place (JSON Pointer), what is wrong, and how to correct it."""

    pointer: str
    detail: str
    advice: str | None = None  # what to do, if no parameter resolves it
    count: int | None = None  # the number of equal errors, if there are several
    places: tuple[str, ...] | None = None  # pointers to the first of them
    lines: tuple[int, ...] | None = None  # of the places in the file
    fixes: tuple[Fix, ...] = ()  # parameters with values that would resolve it

    @property
    def fix(self) -> str | None:
        """How to correct it, as a sentence."""
        return in_words(self.fixes, self.advice)

    def as_member(self) -> dict[str, Any]:
        """The error as an entry of a problem document."""
        members = {**asdict(self), "fix": self.fix, "fixes": [asdict(fix) for fix in self.fixes] or None}
        return {name: value for name, value in members.items() if value is not None}


SHOWN_ERRORS = 100  # limits the response to a body with many errors
SHOWN_PLACES = 5
MAX_PLACE = 200  # characters: names of columns may be long
COUNTED_ERRORS = 100_000  # more are not counted, because that takes long


@dataclass
class Group:
    """Equal errors: the first of them, their number, and their first places."""

    first: FieldError
    count: int = 0
    places: list[str] = field(default_factory=list)

    def as_error(self) -> FieldError:
        """One error that stands for all."""
        if self.count == 1:
            return self.first
        detail = f"{self.first.detail} (and {self.count - 1} more like this)"
        return replace(self.first, detail=detail, count=self.count, places=tuple(self.places))


def grouped(found: Iterable[tuple[Hashable, FieldError]]) -> list[FieldError]:
    """One error for all equal ones. They are consumed one by one, so that many of them take little memory."""
    groups: dict[Hashable, Group] = {}
    for index, (kind, error) in enumerate(found):
        is_new = kind not in groups
        if index == COUNTED_ERRORS or (is_new and len(groups) == SHOWN_ERRORS):
            return [
                *(group.as_error() for group in groups.values()),
                FieldError("", "and more errors, which were not counted"),
            ]
        group = groups.setdefault(kind, Group(error)) if is_new else groups[kind]
        group.count += 1
        if len(group.places) < SHOWN_PLACES:
            group.places.append(error.pointer[:MAX_PLACE])
    return [group.as_error() for group in groups.values()]


def escape(name: str) -> str:
    """A name as a part of a JSON Pointer."""
    return name.replace("~", "~0").replace("/", "~1")


class RequestError(Exception):
    """A request that cannot be answered as it stands."""

    def __init__(self, detail: str, headers: Mapping[str, str] | None = None, **members: Any) -> None:
        super().__init__(detail)
        self.headers = dict(headers or {})
        self.members = members


class Malformed(RequestError):
    """The body cannot be parsed."""


class Unauthenticated(RequestError):
    """No key, or an unknown one."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, headers={"WWW-Authenticate": "Bearer"})


class Forbidden(RequestError):
    """A known key without the scope that the call needs, or a browser that asks for a page of another site."""


class Misdirected(RequestError):
    """The request names a host that is not this service."""


class NotAcceptable(RequestError):
    """The client accepts none of the media types in which the answer can be given."""

    def __init__(self, accept: str, supported: Sequence[str]) -> None:
        super().__init__(f"cannot respond in {accept!r}; supported: {', '.join(supported)}", supported=list(supported))


class UploadTimeout(RequestError):
    """The body did not arrive in time."""


class TooLarge(RequestError):
    """The body is larger than the service takes."""

    def __init__(self, limit_bytes: int, what: str = "the body is larger than") -> None:
        super().__init__(f"{what} {limit_bytes} bytes", limit_bytes=limit_bytes)


class TooMuchWork(RequestError):
    """The request takes longer than the time limit of the service."""

    def __init__(self, limit_seconds: float) -> None:
        detail = f"this takes more than {limit_seconds:g} seconds of work; send fewer rows at once"
        super().__init__(detail, limit_seconds=limit_seconds)


class UnsupportedMediaType(RequestError):
    """No codec reads the body."""

    def __init__(self, media_type: str, supported: Sequence[str]) -> None:
        what = f"cannot read {media_type!r}" if media_type else "a body needs a Content-Type"
        super().__init__(f"{what}; supported: {', '.join(supported)}", supported=list(supported))


class Invalid(RequestError):
    """The body was parsed and cannot be used."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = list(errors)
        super().__init__("; ".join(error.detail for error in self.errors[:3]))


class TooManyRequests(RequestError):
    """The key or user has exceeded its rate limit."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__("too many requests", headers={"Retry-After": str(retry_after_seconds)})


class Busy(RequestError):
    """Other requests hold the memory that this one needs. It may be sent again."""

    def __init__(self, retry_after_seconds: int) -> None:
        detail = "other requests hold the memory that this one needs; send it again"
        super().__init__(detail, headers={"Retry-After": str(retry_after_seconds)})


STATUS: dict[type[Exception], HTTPStatus] = {
    Malformed: HTTPStatus.BAD_REQUEST,
    Unauthenticated: HTTPStatus.UNAUTHORIZED,
    Forbidden: HTTPStatus.FORBIDDEN,
    Misdirected: HTTPStatus.MISDIRECTED_REQUEST,
    NotAcceptable: HTTPStatus.NOT_ACCEPTABLE,
    UploadTimeout: HTTPStatus.REQUEST_TIMEOUT,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    TooMuchWork: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    UnsupportedMediaType: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    Invalid: HTTPStatus.UNPROCESSABLE_ENTITY,
    TooManyRequests: HTTPStatus.TOO_MANY_REQUESTS,
    Busy: HTTPStatus.SERVICE_UNAVAILABLE,
    store.NotFound: HTTPStatus.NOT_FOUND,
    store.Gone: HTTPStatus.GONE,
    store.Conflict: HTTPStatus.CONFLICT,
    store.IdempotencyMismatch: HTTPStatus.UNPROCESSABLE_ENTITY,
    store.PreconditionFailed: HTTPStatus.PRECONDITION_FAILED,
    store.QuotaExceeded: HTTPStatus.TOO_MANY_REQUESTS,
    store.StoreUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    store.Damaged: HTTPStatus.INTERNAL_SERVER_ERROR,
}
