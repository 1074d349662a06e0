"""What a browser says of the page that asks, and what is refused for it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from service.security.origin import host_name
from tests.servers import RedisServer
from tests.service import samples
from tests.service.api import Api, api_process
from tests.service.test_security import line


def plant(url: str, **headers: str) -> httpx2.Response:
    """Send a dataset as a page would."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.post(f"{url}/v1/datasets", json=samples.irises(), headers=given)


def ask(url: str, path: str = "/v1/datasets", **headers: str) -> int:
    """The status of a safe request."""
    return httpx2.get(f"{url}{path}", headers=headers).status_code


@pytest.fixture(scope="module")
def renamed(server: RedisServer, folder: Path, api: Api) -> Iterator[Api]:
    """An API that has one more name."""
    with api_process(server.url, folder / "renamed.log", allowed_hosts="melm.example, other.example:81") as renamed:
        yield renamed


class TestUnsafeMethods:
    @pytest.mark.parametrize("site", ["none", "same-origin"])
    def test_own_pages_pass(self, api: Api, site: str) -> None:
        assert plant(api.url, Sec_Fetch_Site=site, Origin="https://before.the.proxy").is_success

    @pytest.mark.parametrize("site", ["cross-site", "same-site", "whatever"])
    def test_pages_of_others_are_refused(self, api: Api, site: str) -> None:
        refused = plant(api.url, Sec_Fetch_Site=site)
        assert refused.status_code == 403
        assert refused.headers["Content-Type"] == "application/problem+json"
        assert refused.json()["request_id"]

    def test_one_of_two_sites_is_enough(self, api: Api) -> None:
        sites = [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")]
        assert httpx2.post(f"{api.url}/v1/fits/fit_1/cancel", headers=sites).status_code == 403

    def test_origin_decides_where_no_site_is_given(self, api: Api, renamed: Api) -> None:
        assert plant(api.url, Origin=api.url).is_success
        for origin in ("http://foreign.example", "http://127.0.0.1:1", "http://[", "null", ""):
            assert plant(api.url, Origin=origin).status_code == 403
        assert plant(renamed.url, Origin="https://melm.example").is_success
        assert plant(renamed.url, Origin="http://other.example:81").is_success
        assert plant(renamed.url, Origin="http://other.example").status_code == 403

    def test_null_is_refused_whatever_else_is_said(self, api: Api) -> None:
        assert plant(api.url, Origin="null", Sec_Fetch_Site="same-origin").status_code == 403

    @pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
    @pytest.mark.parametrize("path", ["/v1/datasets/ds_1", "/v1/models/mdl_1/predict", "/v1/aliases/a", "/"])
    def test_every_path(self, api: Api, method: str, path: str) -> None:
        refused = httpx2.request(method, f"{api.url}{path}", headers={"Sec-Fetch-Site": "cross-site"})
        assert refused.status_code == 403

    def test_reading_is_left_to_the_browser(self, api: Api) -> None:
        read = httpx2.get(f"{api.url}/v1/datasets", headers={"Sec-Fetch-Site": "cross-site", "Origin": "null"})
        assert read.status_code == 200
        assert not any(name.startswith("access-control-") for name in read.headers)

    def test_keys_change_nothing(self, server: RedisServer, folder: Path) -> None:
        with api_process(server.url, folder / "keyed.log", keys=line("secret")) as api:
            key = "Bearer secret"
            assert plant(api.url, Authorization=key, Sec_Fetch_Site="cross-site").status_code == 403
            assert plant(api.url, Authorization=key, Origin="null").status_code == 403
            assert plant(api.url, Authorization=key, Host="any.example").is_success
            assert ask(api.url, Authorization=key, Host="any.example") == 200


class TestHost:
    @pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.9.9.9:80", "[::1]:8000", "[::1]"])
    def test_loopback_names(self, api: Api, host: str) -> None:
        assert ask(api.url, Host=host) == 200

    @pytest.mark.parametrize(
        "host", ["foreign.example", "localhost.foreign.example", "127.0.0.1.nip.io", "", "[", "a:b"]
    )
    def test_other_names(self, api: Api, host: str) -> None:
        for path in ("/v1/datasets", "/", "/openapi.json", "/metrics"):
            assert ask(api.url, path, Host=host) == 421
        assert plant(api.url, Host=host).status_code == 421

    def test_health_checks_are_exempt(self, api: Api) -> None:
        assert ask(api.url, "/healthz", Host="foreign.example") == 200
        assert ask(api.url, "/readyz", Host="foreign.example") == 200

    def test_names_of_the_setting(self, renamed: Api) -> None:
        for host in ("melm.example", "melm.example:8443", "other.example", "localhost"):
            assert ask(renamed.url, Host=host) == 200
        assert ask(renamed.url, Host="not.melm.example") == 421

    def test_two_hosts_are_none(self, api: Api) -> None:
        address = urlsplit(api.url)
        with socket.create_connection((address.hostname, address.port)) as connection:
            connection.sendall(b"GET /v1/datasets HTTP/1.1\r\nHost: localhost\r\nHost: foreign.example\r\n\r\n")
            assert connection.recv(12) in (b"HTTP/1.1 400", b"HTTP/1.1 421")

    def test_a_proxy_names_users_and_hosts(self, server: RedisServer, folder: Path) -> None:
        log = folder / "proxied_hosts.log"
        with api_process(
            server.url, log, user_header="X-User", keys=line("secret"), allowed_hosts="melm.example"
        ) as api:
            user = {"X-User": "ada"}
            assert ask(api.url, **user, Host="melm.example") == 200
            assert ask(api.url, **user, Host="foreign.example") == 421

    def test_ports_and_brackets(self) -> None:
        hosts = ["a", "a:1", "a:", "[::1]", "[::1]:1", "a:b", ""]
        assert [host_name(host) for host in hosts] == ["a", "a", "a", "::1", "::1", "a:b", ""]


class TestContentType:
    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("POST", "/v1/datasets"),
            ("POST", "/v1/fits"),
            ("POST", "/v1/models"),
            ("POST", "/v1/models/mdl_1/predict"),
            ("POST", "/v1/models/mdl_1/score"),
            ("PUT", "/v1/aliases/champion"),
        ],
    )
    def test_a_body_without_one_is_refused(self, api: Api, method: str, path: str) -> None:
        refused = httpx2.request(method, f"{api.url}{path}", content=b"{}")
        assert refused.status_code == 415
        assert refused.json()["supported"]
        assert "Content-Type" in refused.json()["detail"]

    def test_an_alias_is_json(self, api: Api) -> None:
        text = {"Content-Type": "text/plain"}
        refused = httpx2.put(f"{api.url}/v1/aliases/champion", content=b'{"model_id": "mdl_1"}', headers=text)
        assert refused.status_code == 415
