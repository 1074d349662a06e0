"""The errors of the client.

Exception
└── RemoteError
    ├── Unreachable (ConnectionError)        no response, after all retries
    ├── TimedOut (TimeoutError)              the timeout of the caller has passed; the fit continues
    ├── FitEnded                             a fit ended without a model
    │   ├── FitFailed
    │   └── FitCanceled
    └── ResponseError                        the service has refused the request (RFC 9457)
        ├── Malformed (ValueError)           400
        ├── Unauthenticated                  401
        ├── Forbidden                        403
        ├── NotFound (LookupError)           404
        │   └── Gone                         410: expired or deleted
        ├── Conflict                         409
        ├── PreconditionFailed               412
        ├── TooLarge (ValueError)            413
        ├── Invalid (ValueError)             422, with all errors in `errors`
        ├── TooManyRequests                  429
        └── Unavailable                      5xx
KeyboardInterrupt
└── Interrupted                              Ctrl-C during a wait; says whether the fit was canceled
UserWarning
└── RowsWarning                              input that a model ignored, and unseen categories
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import httpx2

from melm.tables.problem import Fix


class RemoteError(Exception):
    """The base class of all errors of the client."""


class Unreachable(RemoteError, ConnectionError):
    """The service did not respond."""


class TimedOut(RemoteError, TimeoutError):
    """The fit did not end within the timeout of the caller; it continues."""


class RowsWarning(UserWarning):
    """A model ignored a part of its input, or the input has categories that it had not seen in training."""


class FitEnded(RemoteError):
    """A fit ended without a model."""

    def __init__(self, fit_id: str, message: str) -> None:
        super().__init__(message)
        self.fit_id = fit_id

    def __reduce__(self) -> tuple[type[FitEnded], tuple[str, str]]:
        """Support pickle: grid searches raise errors in worker processes."""
        return type(self), (self.fit_id, str(self))


class FitFailed(FitEnded):
    """The fit failed."""


class FitCanceled(FitEnded):
    """The fit was canceled."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a wait. `canceled` says whether the fit was canceled or continues."""

    def __init__(self, fit_id: str, message: str, *, canceled: bool) -> None:
        super().__init__(message)
        self.fit_id = fit_id
        self.canceled = canceled


@dataclass(frozen=True)
class FieldError:
    """One error in a request: its place (JSON Pointer), what is wrong, and how to correct it."""

    pointer: str
    detail: str
    fix: str | None = None
    fixes: tuple[Fix, ...] = ()  # parameters with values that would resolve it
    advice: str | None = None  # what to do, if no parameter resolves it

    def __str__(self) -> str:
        return f"{self.detail} ({self.fix})" if self.fix else self.detail


class ResponseError(RemoteError):
    """The service responded with an error."""

    kinds: ClassVar[dict[int, type[ResponseError]]] = {}

    def __init_subclass__(cls, status: int | None = None) -> None:
        if status is not None:
            ResponseError.kinds[status] = cls

    def __init__(self, status: int, document: Mapping[str, Any], retry_after_seconds: float | None = None) -> None:
        self.status = status
        self.title = str(document.get("title", ""))
        self.detail = str(document.get("detail", ""))
        self.request_id = document.get("request_id")
        self.errors = [
            FieldError(
                str(each.get("pointer", "")),
                str(each.get("detail", "")),
                each.get("fix"),
                tuple(Fix(fix["parameter"], fix["value"], fix["purpose"]) for fix in each.get("fixes") or ()),
                each.get("advice"),
            )
            for each in document.get("errors") or ()
        ]
        self.retry_after_seconds = retry_after_seconds
        super().__init__("; ".join(map(str, self.errors)) or self.detail or f"{status} {self.title}")

    def __reduce__(self) -> tuple[type[ResponseError], tuple[Any, ...]]:
        """Support pickle."""
        errors = [asdict(error) for error in self.errors]
        document = {"title": self.title, "detail": self.detail, "request_id": self.request_id, "errors": errors}
        return type(self), (self.status, document, self.retry_after_seconds)

    @classmethod
    def of(cls, response: httpx2.Response) -> ResponseError:
        """The error of a response, whether or not it is a problem document."""
        try:
            document = response.json()
        except ValueError:
            document = None
        if not isinstance(document, dict):
            document = {"title": response.reason_phrase}
        kind = Unavailable if response.status_code >= 500 else cls.kinds.get(response.status_code, ResponseError)
        return kind(response.status_code, document, retry_after(response))


class Malformed(ResponseError, ValueError, status=400):
    """The body cannot be parsed."""


class Unauthenticated(ResponseError, status=401):
    """No key, or an unknown one."""


class Forbidden(ResponseError, status=403):
    """The key lacks the scope that the request needs."""


class NotFound(ResponseError, LookupError, status=404):
    """The resource does not exist."""


class Conflict(ResponseError, status=409):
    """The state of the resource does not allow the request."""


class Gone(NotFound, status=410):
    """The resource has expired or was deleted."""


class PreconditionFailed(ResponseError, status=412):
    """Another client has changed the resource."""


class TooLarge(ResponseError, ValueError, status=413):
    """The request body exceeds the size limit."""


class Invalid(ResponseError, ValueError, status=422):
    """The request is well-formed but invalid; `errors` has all errors."""


class TooManyRequests(ResponseError, status=429):
    """A rate limit or quota is exceeded."""


class Unavailable(ResponseError):
    """The service failed or is unavailable."""


def retry_after(response: httpx2.Response) -> float | None:
    """The Retry-After of a response in seconds. The service never sends a date."""
    try:
        return max(0.0, float(response.headers["Retry-After"]))
    except (KeyError, ValueError):
        return None
