"""Keys, tenants and scopes; what is refused without them; and that secrets stay out of logs."""

import hashlib
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from service.security.binding import check_binding
from service.security.keys import Keyring, Principal, Scope, parse_keys
from service.security.rate_limit import RateLimit
from tests.servers import ROOT, RedisServer, wait_until
from tests.service import samples
from tests.service.api import Api, api_process
from worker.store.errors import SettingsError


def line(token: str, tenant: str = "acme", scope: str = "fit") -> str:
    return f"{tenant} {scope} {hashlib.sha256(token.encode()).hexdigest()}"


TOKENS = {name: f"{name}-{uuid.uuid4().hex}" for name in ("fit", "predict", "admin", "other", "fit-other")}


class TestKeyring:
    def test_several_keys_belong_to_one_tenant(self) -> None:
        keyring = Keyring(f"# ours\n{line('one')}\n{line('two', scope='predict')} # rotated in\n")
        assert keyring.find("one") == Principal("acme", Scope.FIT)
        assert keyring.find("two") == Principal("acme", Scope.PREDICT)
        assert keyring.find("three") is None
        assert not keyring.is_open
        assert Keyring().is_open

    def test_a_changed_file_is_taken_up(self, tmp_path: Path) -> None:
        now = [0.0]
        file = tmp_path / "keys"
        file.write_text(line("old"))
        keyring = Keyring(file=file, clock=lambda: now[0])
        assert keyring.find("old")
        file.write_text(line("new") + "\n" + line("newer"))
        now[0] += 2
        assert keyring.find("old") is None
        assert keyring.find("newer")

    def test_a_broken_file_changes_nothing(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        now = [0.0]
        file = tmp_path / "keys"
        file.write_text(line("old"))
        keyring = Keyring(file=file, clock=lambda: now[0])
        file.write_text("what is this secret")
        now[0] += 2
        assert keyring.find("old")
        file.unlink()
        now[0] += 2
        assert keyring.find("old")
        assert "the keys stay as they were" in caplog.text
        assert "secret" not in caplog.text

    @pytest.mark.parametrize(
        "text", ["acme fit", "acme king " + "0" * 64, "acme fit 12", "a/b fit " + "0" * 64, "{} x y"]
    )
    def test_lines_that_cannot_be_understood(self, text: str) -> None:
        with pytest.raises(SettingsError, match="Line 1"):
            parse_keys(text)


def test_rate_limit_refills() -> None:
    now = [0.0]
    limit = RateLimit(2, clock=lambda: now[0])
    assert [limit.allows(b"a") for _ in range(3)] == [True, True, False]
    assert limit.allows(b"b")
    now[0] += 0.5
    assert [limit.allows(b"a") for _ in range(2)] == [True, False]


def test_rate_limit_of_zero_is_none() -> None:
    limit = RateLimit(0)
    assert all(limit.allows(b"a") for _ in range(100))


def test_rate_limit_holds_over_processes(tmp_path: Path) -> None:
    count = "from service.security.rate_limit import RateLimit; import pathlib, sys; "
    count += "limit = RateLimit(50, pathlib.Path(sys.argv[1]), clock=lambda: 5.0); "
    count += "print(sum(limit.allows(b'a') for _ in range(100)))"
    command = [sys.executable, "-c", count, str(tmp_path / "rates")]
    processes = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert sum(int(process.communicate()[0]) for process in processes) == 50


class TestBinding:
    @pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.5.5.5"])
    def test_loopback_needs_no_keys(self, host: str) -> None:
        check_binding(host, Keyring(), "")

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example"])  # noqa: S104
    def test_others_need_keys(self, host: str) -> None:
        with pytest.raises(SettingsError, match="MELM_KEYS_FILE"):
            check_binding(host, Keyring(), "")
        check_binding(host, Keyring(line("one")), "")

    def test_the_process_refuses_with_a_sentence(self) -> None:
        environment = {**os.environ, "MELM_HOST": "0.0.0.0"}  # noqa: S104
        refused = subprocess.run(
            [sys.executable, "-m", "service"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=30
        )
        assert refused.returncode == 1
        assert refused.stderr.startswith("melm: will not listen on 0.0.0.0 without keys")
        assert "Traceback" not in refused.stderr


@pytest.fixture(scope="module")
def keys_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three keys of one tenant, each with another scope, and one of another tenant."""
    file = tmp_path_factory.mktemp("keys") / "keys"
    ours = [line(TOKENS[scope], "acme", scope) for scope in ("fit", "predict", "admin")]
    file.write_text("\n".join([*ours, line(TOKENS["other"], "rival"), line(TOKENS["fit-other"], "rival")]))
    return file


@pytest.fixture(scope="module")
def guarded(server: RedisServer, folder: Path, api: Api, keys_file: Path) -> Iterator[Api]:
    """An API with keys, on the server of the others."""
    with api_process(server.url, folder / "guarded.log", keys_file=keys_file, requests_per_second=50) as guarded:
        yield guarded


def commands_seen(monitor: Any, server: RedisServer) -> list[str]:
    """What the server was told to do until now."""
    server.client.echo("that was all")
    seen: list[str] = []
    while not seen or "that was all" not in seen[-1]:
        seen.append(monitor.next_command()["command"])
    return seen


class TestOverHttp:
    def test_no_key_or_a_wrong_one(self, guarded: Api) -> None:
        for client in (guarded.client(), guarded.client("wrong")):
            with client:
                for path in ("/v1/datasets", "/v1/fits", "/v1/models", "/v1/aliases", "/metrics"):
                    response = client.get(path)
                    assert response.status_code == 401
                    assert response.headers["WWW-Authenticate"] == "Bearer"
                    assert response.headers["Content-Type"] == "application/problem+json"
                assert client.post("/v1/models/mdl_1/predict", json={"X": [[1]]}).status_code == 401
                assert client.post("/v1/models/mdl_1/predict_proba?log_density=much").status_code == 401
                for path in ("/", "/docs", "/healthz", "/readyz", "/openapi.json"):
                    assert client.get(path).status_code == 200

    def test_scopes(self, guarded: Api) -> None:
        with guarded.client(TOKENS["predict"]) as client:
            assert client.get("/v1/models").status_code == 200
            assert client.get("/v1/fits").status_code == 403
            assert client.post("/v1/datasets", json=samples.irises()).status_code == 403
            assert client.delete("/v1/models/mdl_1").status_code == 403
            assert client.get("/metrics").status_code == 403
        with guarded.client(TOKENS["fit"]) as client:
            assert client.get("/v1/fits").status_code == 200
            assert client.get("/metrics").status_code == 403
        with guarded.client(TOKENS["admin"]) as client:
            assert client.get("/metrics").status_code == 200

    def test_what_another_tenant_has_does_not_exist(self, guarded: Api) -> None:
        with guarded.client(TOKENS["fit"]) as ours, guarded.client(TOKENS["other"]) as theirs:
            key = {"Idempotency-Key": "shared"}
            dataset = ours.post("/v1/datasets", json=samples.irises(), headers=key).json()
            fit = samples.fit(ours, {"dataset_id": dataset["id"], "method": "pca", "validation": None})
            ours.put("/v1/aliases/champion", json={"model_id": fit["model_id"]})
            for path in (
                f"/v1/datasets/{dataset['id']}",
                f"/v1/fits/{fit['id']}",
                f"/v1/fits/{fit['id']}/events",
                f"/v1/fits/{fit['id']}/events/stream",
                f"/v1/models/{fit['model_id']}",
                f"/v1/models/{fit['model_id']}/file",
                "/v1/models/champion",
                "/v1/aliases/champion",
            ):
                assert ours.get(path).status_code == 200
                assert theirs.get(path).status_code == 404
            rows = {"X": samples.irises()["X"][:1]}
            assert ours.post(f"/v1/models/{fit['model_id']}/predict", json=rows).status_code == 200
            assert theirs.post(f"/v1/models/{fit['model_id']}/predict", json=rows).status_code == 404
            assert theirs.post("/v1/fits", json={"dataset_id": dataset["id"]}).status_code == 404
            assert theirs.post(f"/v1/fits/{fit['id']}/cancel").status_code == 404
            assert theirs.delete(f"/v1/datasets/{dataset['id']}").status_code == 404
            found = theirs.get("/v1/datasets", params={"content_hash": dataset["content_hash"]}).json()
            assert found["data"] == []
            mine = theirs.post("/v1/datasets", json=samples.irises(), headers=key)
            assert mine.status_code == 201
            assert mine.json()["id"] != dataset["id"]

    def test_too_many_requests(self, guarded: Api) -> None:
        with guarded.client(TOKENS["other"]) as client:
            responses = [client.get("/v1/models") for _ in range(200)]
        refused = [response for response in responses if response.status_code == 429]
        assert refused
        assert refused[0].headers["Retry-After"] == "1"

    def test_keys_rotate_without_a_restart(self, guarded: Api, keys_file: Path) -> None:
        fresh = uuid.uuid4().hex
        with guarded.client(fresh) as client:
            assert client.get("/v1/fits").status_code == 401
            with keys_file.open("a") as file:
                file.write("\n" + line(fresh) + "\n")
            wait_until(lambda: client.get("/v1/fits").status_code == 200)
            assert client.get("/v1/datasets").json()["data"]  # what the tenant made with its other key

    def test_what_is_not_ours_costs_the_server_as_much_as_what_is_not_there(
        self, guarded: Api, server: RedisServer
    ) -> None:
        with guarded.client(TOKENS["fit"]) as ours:
            dataset = ours.post("/v1/datasets", json=samples.irises()).json()
            fit = samples.fit(ours, {"dataset_id": dataset["id"], "method": "pca", "validation": None})
            ours.get(f"/v1/models/{fit['model_id']}/schema")  # into the cache
        rows = {"X": samples.irises()["X"][:1]}
        pairs = {id: id[:-6] + "000000" for id in (dataset["id"], fit["id"], fit["model_id"])}
        with guarded.client(TOKENS["fit-other"]) as theirs, server.client.monitor() as monitor:  # type: ignore[no-untyped-call]
            for path in ("datasets/ds_0", "models/mdl_0"):
                theirs.delete(f"/v1/{path}")  # the scripts are sent to the server once
            for kind, pair in zip(("datasets", "fits", "models"), pairs.items(), strict=True):
                for id in pair:
                    assert theirs.get(f"/v1/{kind}/{id}").status_code == 404
                    assert theirs.delete(f"/v1/{kind}/{id}").status_code in (404, 405)
                    assert theirs.post(f"/v1/{kind}/{id}/predict", json=rows).status_code == 404
            seen = commands_seen(monitor, server)
        for id, nothing in pairs.items():
            about = [command.replace(id, "") for command in seen if id in command]
            assert about
            assert about == [command.replace(nothing, "") for command in seen if nothing in command]

    def test_no_key_in_logs_metrics_errors_and_command_lines(self, guarded: Api) -> None:
        seen = ""
        for token in (*TOKENS.values(), "a-wrong-key"):
            with guarded.client(token) as client:
                seen += client.get("/v1/fits").text + client.get("/v1/models/mdl_1").text + client.get("/metrics").text
        wait_until(lambda: '"tenant":"acme"' in guarded.log.read_text())
        seen += guarded.log.read_text() + Path(f"/proc/{guarded.process.pid}/cmdline").read_text()
        for token in (*TOKENS.values(), "a-wrong-key"):
            assert token not in seen
            assert hashlib.sha256(token.encode()).hexdigest() not in seen


def test_the_rate_limit_is_that_of_all_processes(server: RedisServer, folder: Path) -> None:
    token = uuid.uuid4().hex
    log = folder / "several.log"
    with api_process(server.url, log, keys=line(token), requests_per_second=2, api_processes=3) as api:
        began_at = time.monotonic()
        statuses = []
        for _ in range(100):  # each by a connection of its own, which any of the processes may take
            with api.client(token) as client:
                statuses.append(client.get("/v1/models").status_code)
        seconds = time.monotonic() - began_at
    assert statuses.count(200) + statuses.count(429) == 100
    assert 2 <= statuses.count(200) <= 2 + 2 * seconds


def test_users_of_a_proxy_have_a_rate_limit_each(server: RedisServer, folder: Path) -> None:
    with api_process(server.url, folder / "users.log", user_header="X-User", requests_per_second=2) as api:
        with httpx2.Client(base_url=api.url, headers={"X-User": "ada"}) as client:
            assert 429 in [client.get("/v1/models").status_code for _ in range(20)]
        with httpx2.Client(base_url=api.url, headers={"X-User": "bob"}) as client:
            assert client.get("/v1/models").status_code == 200


def test_user_named_by_a_trusted_proxy(server: RedisServer, folder: Path) -> None:
    with api_process(server.url, folder / "proxied.log", user_header="X-User", root_path="/melm") as api:
        with httpx2.Client(base_url=api.url, headers={"X-User": "ada"}) as client:
            created = client.post("/v1/datasets", json=samples.irises())
            assert created.status_code == 201
            assert created.headers["Location"].startswith("/melm/v1/datasets/ds_")
        with httpx2.Client(base_url=api.url, headers=[("X-User", "ada"), ("X-User", "bob")]) as client:
            assert client.get("/v1/datasets").status_code == 401
        with httpx2.Client(base_url=api.url, headers={"X-User": "../bob"}) as client:
            assert client.get("/v1/datasets").status_code == 401
        with api.client() as client:
            assert client.get("/v1/datasets").status_code == 401
    with (
        api_process(server.url, folder / "far.log", user_header="X-User", trusted_proxies="192.0.2.1") as api,
        httpx2.Client(base_url=api.url, headers={"X-User": "ada"}) as client,
    ):
        assert client.get("/v1/datasets").status_code == 401
