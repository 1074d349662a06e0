"""The dependencies of handlers, as named types."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, cast

from fastapi import Depends, Header, Path, Query, Request

from service.errors import Forbidden, TooManyRequests, Unauthenticated
from service.inference.model_cache import ModelCache
from service.inference.training_rows import TrainingRows
from service.intake import memory
from service.intake.body import read_body
from service.intake.formats import CODECS
from service.operation.heavy_work import HeavyWork
from service.operation.metrics import Metrics
from service.operation.pulse import Pulse
from service.security.keys import Keyring, Principal, Scope, check_tenant, digest_of
from service.security.rate_limit import RateLimit
from service.settings import ServiceSettings
from worker.engine import Dispatcher, Engine, Watch
from worker.store.records import DEFAULT_TENANT, Idempotency

MAX_WAIT_SECONDS = 60


@dataclass
class Context:
    """The objects that all handlers of one application share."""

    store: Engine
    dispatcher: Dispatcher
    settings: ServiceSettings
    keyring: Keyring
    rate_limit: RateLimit
    models: ModelCache
    training_rows: TrainingRows
    metrics: Metrics
    watch: Watch
    heavy: HeavyWork
    pulse: Pulse


async def get_context(request: Request) -> Context:
    """The context that `create_app` has made."""
    return cast(Context, request.app.state.context)


ContextDep: TypeAlias = Annotated[Context, Depends(get_context)]


def authenticate(request: Request, context: Context) -> Principal:
    """The authenticated client. Without keys it is the default tenant: the service then listens on loopback only."""
    settings = context.settings
    users = request.headers.getlist(settings.user_header) if settings.user_header else []
    if any(users):
        if len(users) > 1:  # one of them may have been sent by the client
            raise Unauthenticated(f"{settings.user_header} is given more than once")
        if request.client is None or request.client.host not in settings.trusted_proxies.split(","):
            raise Unauthenticated(f"{settings.user_header} is accepted only from a trusted proxy")
        try:
            user = Principal(check_tenant(users[0]), Scope.FIT)
        except ValueError as error:
            raise Unauthenticated(str(error)) from None
        limit_rate(context, user.tenant)
        return user
    if context.keyring.is_open and not settings.user_header:
        return Principal(DEFAULT_TENANT, Scope.ADMIN)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    principal = context.keyring.find(token.strip()) if scheme.lower() == "bearer" else None
    if principal is None:
        raise Unauthenticated("a valid key is required: Authorization: Bearer KEY")
    limit_rate(context, token.strip())
    return principal


def limit_rate(context: Context, who: str) -> None:
    """Apply the rate limit of a key or user."""
    if not context.rate_limit.allows(digest_of(who)):
        raise TooManyRequests(retry_after_seconds=1)


def authorize(request: Request, context: Context, scope: Scope) -> str:
    """The tenant of a request; Forbidden if its key lacks the scope."""
    principal = authenticate(request, context)
    request.scope["tenant"] = principal.tenant
    memory.belongs_to(principal.tenant)
    if principal.scope < scope:
        has, needs = principal.scope.name.lower(), scope.name.lower()
        raise Forbidden(f"the key has the scope {has}; this request needs {needs}")
    return principal.tenant


def tenant_with(scope: Scope) -> Callable[[Request, Context], Coroutine[Any, Any, str]]:
    """A dependency that returns the tenant, and refuses keys without the scope."""

    async def get_tenant(request: Request, context: ContextDep) -> str:
        return authorize(request, context, scope)

    return get_tenant


PredictTenant: TypeAlias = Annotated[str, Depends(tenant_with(Scope.PREDICT))]
FitTenant: TypeAlias = Annotated[str, Depends(tenant_with(Scope.FIT))]
AdminTenant: TypeAlias = Annotated[str, Depends(tenant_with(Scope.ADMIN))]


async def get_body(request: Request, context: ContextDep) -> bytes:
    """The whole body, of limited size."""
    settings = context.settings
    body = await read_body(request, settings.max_body_bytes, settings.upload_timeout_seconds)
    media_type = request.headers.get("content-type", "").partition(";")[0].lower()
    memory.hold_unfolded(media_type, body)
    context.metrics.count_payload("in", media_type if media_type in CODECS else "other", len(body))
    return body


Body: TypeAlias = Annotated[bytes, Depends(get_body)]


IdempotencyKey: TypeAlias = Annotated[str | None, Header(max_length=255, min_length=1)]


class RequestDigest:
    """A hash of the request: path, query, media type and body."""

    def __init__(self, request: Request) -> None:
        self._digest = hashlib.sha256(f"{request.url.path}?{request.url.query}\n".encode())
        # The boundary of a form differs each time that the form is sent.
        self._digest.update(request.headers.get("content-type", "").partition("boundary=")[0].encode() + b"\n")

    def update(self, piece: bytes) -> None:
        """The next piece of the body."""
        self._digest.update(piece)

    def bind(self, key: str | None) -> Idempotency | None:
        """The request's idempotency key, bound to the hash."""
        return None if key is None else Idempotency(key=key, body_hash=self._digest.hexdigest())


async def get_idempotency(request: Request, body: Body, idempotency_key: IdempotencyKey = None) -> Idempotency | None:
    """The request's idempotency key, bound to the whole request."""
    if idempotency_key is None:
        return None
    digest = RequestDigest(request)
    digest.update(body)
    return digest.bind(idempotency_key)


IdempotencyDep: TypeAlias = Annotated[Idempotency | None, Depends(get_idempotency)]


async def get_wait_seconds(
    prefer: Annotated[
        str | None,
        Header(description=f"`wait=N`: answer when the fit has ended, or after N seconds, at most {MAX_WAIT_SECONDS}."),
    ] = None,
) -> float:
    """How long the client prefers to wait (RFC 7240); a malformed preference is ignored."""
    match = re.search(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,6})", prefer or "")
    return min(float(match[1]), MAX_WAIT_SECONDS) if match else 0.0


WaitSeconds: TypeAlias = Annotated[float, Depends(get_wait_seconds)]
Until: TypeAlias = Annotated[
    Literal["end", "model"],
    Query(description="What to wait for: the end of the fit, or its model, which comes earlier."),
]

DatasetId: TypeAlias = Annotated[str, Path(description="A dataset's id.", examples=["ds_01JCZ9V7M3K4N5P6Q7R8S9T0AB"])]
FitId: TypeAlias = Annotated[str, Path(description="A fit's id.", examples=["fit_01JCZ9V7M3K4N5P6Q7R8S9T0AB"])]
ModelId: TypeAlias = Annotated[
    str, Path(description="A model's id, or an alias.", examples=["mdl_01JCZ9V7M3K4N5P6Q7R8S9T0AB", "champion"])
]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=100, description="The largest number of entries in a page.")]
Cursor: TypeAlias = Annotated[str | None, Query(description="`next_cursor` of the previous page.", max_length=200)]
