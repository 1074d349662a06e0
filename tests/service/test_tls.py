"""API and worker on a server that speaks TLS and asks for user and password; and on one that they must not trust."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.servers import ROOT, server_binary, wait_until, worker_process
from tests.service import samples
from tests.service.api import api_process, free_port

pytestmark = pytest.mark.slow

PASSWORD = "correct-horse"
START_SECONDS = 30.0


@dataclass(frozen=True)
class TlsServer:
    """A server, and the certificates of two authorities, one of which has signed its own."""

    port: int
    authority: Path
    other_authority: Path

    def url(self, authority: Path, password: str = PASSWORD) -> str:
        """What MELM_REDIS_URL is to be for whoever trusts an authority."""
        return f"rediss://melm:{password}@127.0.0.1:{self.port}/0?ssl_ca_certs={authority}"


def openssl(folder: Path, *arguments: str) -> None:
    """Make a key or a certificate."""
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_authority(folder: Path, name: str) -> Path:
    """A certificate that can sign others."""
    request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    openssl(folder, *request, "-keyout", f"{name}.key", "-out", f"{name}.pem")
    return folder / f"{name}.pem"


def make_certificate(folder: Path, authority: str) -> None:
    """The server's, signed by an authority."""
    request = ["req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=store"]
    openssl(folder, *request, "-keyout", "server.key", "-out", "server.csr")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1")
    signer = ["-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-CAcreateserial"]
    openssl(
        folder, "x509", "-req", "-in", "server.csr", "-days", "2", "-extfile", "names", "-out", "server.pem", *signer
    )


def binaries(folder: Path) -> Iterator[Path]:
    """Servers that may speak TLS. Debian's redis-check-rdb is the server, which goes by the name it is called."""
    yield Path(server_binary())
    if found := shutil.which("redis-check-rdb"):
        (folder / "redis-server").symlink_to(found)
        yield folder / "redis-server"


@contextmanager
def running(binary: Path, folder: Path, port: int, authority: Path) -> Iterator[bool]:
    """A server; tells whether it runs, which one without TLS does not."""
    configuration = f"""
        port 0
        tls-port {port}
        tls-cert-file {folder}/server.pem
        tls-key-file {folder}/server.key
        tls-ca-cert-file {authority}
        tls-auth-clients no
        dir {folder}
        save ""
        appendonly yes
        maxmemory-policy noeviction
        user default off
        user melm on >{PASSWORD} ~* &* +@all
    """
    (folder / "configuration").write_text(configuration)
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen([binary, folder / "configuration"], stdout=log, stderr=log)
    options: dict[str, Any] = {"ssl": True, "ssl_ca_certs": str(authority), "username": "melm", "password": PASSWORD}

    def answers() -> bool:
        try:
            with redis.Redis(host="127.0.0.1", port=port, **options) as client:
                return bool(client.ping())
        except redis.exceptions.ConnectionError:
            return False

    try:
        wait_until(lambda: process.poll() is not None or answers(), START_SECONDS)
        yield process.poll() is None
    finally:
        process.terminate()
        process.wait(START_SECONDS)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsServer]:
    """A server that speaks TLS."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: no certificate for a server with TLS")
    folder = tmp_path_factory.mktemp("tls")
    authority, other = make_authority(folder, "authority"), make_authority(folder, "other")
    make_certificate(folder, "authority")
    for binary in binaries(folder):
        port = free_port()
        with running(binary, folder, port, authority) as is_running:
            if is_running:
                yield TlsServer(port, authority, other)
                return
    pytest.skip("no server here speaks TLS: install redis-tools or a Valkey with TLS")


def test_a_fit_goes_through_api_and_worker(server: TlsServer, tmp_path: Path) -> None:
    url = server.url(server.authority)
    with (
        worker_process(url, tmp_path / "worker.log", worker_processes=1) as worker,
        api_process(url, tmp_path / "api.log") as api,
        api.client() as client,
    ):
        fit = samples.fit(client, {"data": {"X": samples.irises()["X"], "y": samples.irises()["y"]}, "method": "pca"})
        assert fit["status"] == "succeeded", fit
        for pid in (api.process.pid, worker.pid, *worker.children()):
            assert PASSWORD not in Path(f"/proc/{pid}/cmdline").read_text()
    for log in ("api.log", "worker.log"):
        assert PASSWORD not in (tmp_path / log).read_text()


@pytest.mark.parametrize(
    ("authority", "password", "reason"),
    [("other_authority", PASSWORD, "certificate verify failed"), ("authority", "wrong", "invalid username-password")],
)
def test_what_is_wrong_with_the_connection_is_said(
    server: TlsServer, tmp_path: Path, authority: str, password: str, reason: str
) -> None:
    url = server.url(getattr(server, authority), password)
    with api_process(url, tmp_path / "api.log") as api, api.client() as client:
        assert client.get("/readyz").status_code == 503
        refused = client.get("/v1/fits")
        assert refused.status_code == 503
        assert "Retry-After" in refused.headers
        assert PASSWORD not in refused.text
        wait_until(lambda: reason in api.log.read_text())
        log = api.log.read_text()
    with (tmp_path / "worker.log").open("wb") as output:
        worker = subprocess.Popen(
            [sys.executable, "-m", "worker"],
            cwd=ROOT,
            env=os.environ | {"MELM_REDIS_URL": url},
            stderr=output,
            stdout=output,
        )
    try:
        wait_until(lambda: reason in (tmp_path / "worker.log").read_text(), START_SECONDS)
        log += (tmp_path / "worker.log").read_text()
    finally:
        worker.kill()
        worker.wait()
    assert f":{password}@" not in log
    assert "Traceback" not in log
