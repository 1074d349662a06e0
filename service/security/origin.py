"""Defense against malicious web pages, which can reach a loopback address through the browser that shows them.

Cross-site request forgery: a page of another site can send requests, by fetch and by forms, without a preflight. The
browser marks them by Sec-Fetch-Site and Origin, and unsafe methods are refused. DNS rebinding: a page whose own name
resolves to this machine is of the same site to the browser, but its name is in Host, which has to be an allowed name.
Programs send neither Sec-Fetch-Site nor Origin, so they are not affected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from service import problems
from service.errors import Forbidden, Misdirected, RequestError
from service.security.binding import is_loopback
from service.security.keys import Keyring
from service.settings import ServiceSettings

HOST = re.compile(r"\[?([^\]]*?)\]?(?::\d*)?")
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
HEALTH_CHECKS = frozenset({"/healthz", "/readyz"})
OWN_SITES = frozenset({"none", "same-origin"})  # not same-site, which includes all other ports of this machine
LOOKED_AT = {b"host": "host", b"origin": "origin", b"sec-fetch-site": "sec-fetch-site"}


class OriginGuard:
    """ASGI middleware that refuses requests made by pages of other sites."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, keyring: Keyring) -> None:
        self._app = app
        self._root_path = settings.root_path
        self._allowed = frozenset(name for word in settings.allowed_hosts.split(",") if (name := word.strip().lower()))
        self._names = frozenset({settings.host.lower(), *map(host_name, self._allowed)})
        # A malicious page has no key. But a proxy adds the user header to all requests of the browser, also to its.
        self._checks_host = keyring.is_open or bool(settings.user_header)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http":
            try:
                self._check(scope)
            except RequestError as error:
                await problems.answer_known(Request(scope), error)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        given: dict[str, list[str]] = {name: [] for name in LOOKED_AT.values()}
        for name, value in scope["headers"]:
            if name in LOOKED_AT:
                given[LOOKED_AT[name]].append(value.decode("latin-1").lower())
        if self._checks_host and scope["path"].removeprefix(self._root_path) not in HEALTH_CHECKS:
            self._check_host(given["host"])
        if scope["method"] not in SAFE_METHODS:
            self._check_origin(given)

    def _check_host(self, hosts: Sequence[str]) -> None:
        if len(hosts) != 1:
            raise Misdirected("a request needs exactly one Host header")
        name = host_name(hosts[0])
        if name not in self._names and not is_loopback(name):
            raise Misdirected(f"unknown host {name!r}; MELM_ALLOWED_HOSTS can allow more hosts")

    def _check_origin(self, given: Mapping[str, Sequence[str]]) -> None:
        sites, origins = given["sec-fetch-site"], given["origin"]
        if not OWN_SITES.issuperset(sites) or "null" in origins:
            raise Forbidden("a page of another site may not do that")
        if sites:  # more reliable than Origin: the browser knows the address in front of a proxy
            return
        ours = {*given["host"], *self._allowed}
        for origin in origins:
            if origin.partition("://")[2] not in ours:
                raise Forbidden(f"a page of {origin!r} may not do that; MELM_ALLOWED_HOSTS can name its host")


def host_name(host: str) -> str:
    """A host without its port and without the brackets of an IPv6 address."""
    match = HOST.fullmatch(host)
    return host if match is None else match[1]
