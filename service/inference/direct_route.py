"""A faster route to handlers whose only parameters are the request and its path parameters."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from service import problems
from service.errors import RequestError
from worker.store.errors import ContractError


class DirectRoutes:
    """ASGI middleware that calls such handlers directly: FastAPI's overhead exceeds the time of a small prediction.

    They remain ordinary routes of FastAPI, which documents them and refuses other methods.
    """

    def __init__(self, app: ASGIApp, owner: FastAPI, routes: Iterable[BaseRoute]) -> None:
        self._app = app
        self._owner = owner
        self._routes = [
            (route, route.path_regex, frozenset(route.methods or ()))
            for route in routes
            if isinstance(route, APIRoute) and is_direct(route)
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for one of the handlers; pass on all others."""
        if scope["type"] == "http":
            path = scope["path"].removeprefix(self._owner.root_path)
            for route, pattern, methods in self._routes:
                match = pattern.match(path)
                if match is not None and scope["method"] in methods:
                    scope.update(app=self._owner, route=route, path_params=match.groupdict())
                    await answer(route, Request(scope, receive), send)
                    return
        await self._app(scope, receive, send)


def is_direct(route: APIRoute) -> bool:
    """Whether the handler of a route takes only the request and its path parameters."""
    return set(inspect.signature(route.endpoint).parameters) == {"request", *route.param_convertors}


class DirectResponse(Response):
    """A response with encoded headers: FastAPI's own checks and encodes them each time."""

    def __init__(self, content: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        self.status_code = 200
        self.background = None
        self.body = content
        self.raw_headers = [(b"content-length", str(len(content)).encode()), *headers]


async def answer(route: APIRoute, request: Request, send: Send) -> None:
    """Send the response of the handler, or a problem document."""
    try:
        response = await route.endpoint(request, **request.path_params)
    except (RequestError, ContractError) as error:
        response = problems.answer_known(request, error)
    await response(request.scope, request.receive, send)
