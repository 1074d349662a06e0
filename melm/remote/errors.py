"""What can go wrong between a client and the service.

Exception
└── RemoteError
    ├── Unreachable (ConnectionError)        no answer, however often the service was asked
    ├── TimedOut (TimeoutError)              the caller's own limit for a wait is over; the fit goes on
    ├── FitEnded                             a fit ended without a model
    │   ├── FitFailed
    │   └── FitCanceled
    └── ResponseError                        the service said no, in a problem document (RFC 9457)
        ├── Malformed (ValueError)           400
        ├── Unauthenticated                  401
        ├── Forbidden                        403
        ├── NotFound (LookupError)           404
        │   └── Gone                         410: it was there, and expired or was deleted
        ├── Conflict                         409
        ├── PreconditionFailed               412
        ├── TooLarge (ValueError)            413
        ├── Invalid (ValueError)             422, with everything that is wrong in `errors`
        ├── TooManyRequests                  429
        └── Unavailable                      5xx
KeyboardInterrupt
└── Interrupted                              Ctrl-C during a wait; says what has become of the fit
UserWarning
└── RowsWarning                              what a model made no use of in rows, or had not seen
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import httpx2

from melm.tables.problem import Fix


class RemoteError(Exception):
    """The base of every error that the client raises."""


class Unreachable(RemoteError, ConnectionError):
    """The service did not answer."""


class TimedOut(RemoteError, TimeoutError):
    """The fit did not end within the time that the caller gave it; it goes on."""


class RowsWarning(UserWarning):
    """What a model made no use of in the rows that it was asked about, or had not seen."""


class FitEnded(RemoteError):
    """A fit ended without a model."""

    def __init__(self, fit_id: str, message: str) -> None:
        super().__init__(message)
        self.fit_id = fit_id

    def __reduce__(self) -> tuple[type[FitEnded], tuple[str, str]]:
        """Errors cross processes: grid searches raise them in workers of their own."""
        return type(self), (self.fit_id, str(self))


class FitFailed(FitEnded):
    """The fit failed."""


class FitCanceled(FitEnded):
    """The fit was canceled."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a wait. `canceled` says whether the fit was ended with it, or goes on."""

    def __init__(self, fit_id: str, message: str, *, canceled: bool) -> None:
        super().__init__(message)
        self.fit_id = fit_id
        self.canceled = canceled


@dataclass(frozen=True)
class FieldError:
    """One thing that is wrong with a request: where (JSON Pointer), what, and how to mend it."""

    pointer: str
    detail: str
    fix: str | None = None
    fixes: tuple[Fix, ...] = ()  # what `fix` says, as parameters with values,
    advice: str | None = None  # and what no parameter settles

    def __str__(self) -> str:
        return f"{self.detail} ({self.fix})" if self.fix else self.detail


class ResponseError(RemoteError):
    """The service did not do what it was asked for."""

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
        """As above."""
        errors = [asdict(error) for error in self.errors]
        document = {"title": self.title, "detail": self.detail, "request_id": self.request_id, "errors": errors}
        return type(self), (self.status, document, self.retry_after_seconds)

    @classmethod
    def of(cls, response: httpx2.Response) -> ResponseError:
        """The problem that an answer tells of, whether or not it is a problem document."""
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
    """No key, or one that is not known."""


class Forbidden(ResponseError, status=403):
    """The key has not the scope that the call needs."""


class NotFound(ResponseError, LookupError, status=404):
    """There is no such thing."""


class Conflict(ResponseError, status=409):
    """The state of the thing does not allow the request."""


class Gone(NotFound, status=410):
    """It was there, and has expired or was deleted."""


class PreconditionFailed(ResponseError, status=412):
    """Somebody else has changed it meanwhile."""


class TooLarge(ResponseError, ValueError, status=413):
    """The body is larger than the service takes."""


class Invalid(ResponseError, ValueError, status=422):
    """The request can be read and not be carried out; `errors` lists everything that is wrong."""


class TooManyRequests(ResponseError, status=429):
    """The service takes no more for now."""


class Unavailable(ResponseError):
    """The service has a problem of its own."""


def retry_after(response: httpx2.Response) -> float | None:
    """How long the service asks to be left alone, in seconds; its other form, a date, is not used by it."""
    try:
        return max(0.0, float(response.headers["Retry-After"]))
    except (KeyError, ValueError):
        return None
