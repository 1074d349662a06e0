"""The life of a deployment: people at its page, more and fewer workers, deaths, a backup, an upgrade."""

from __future__ import annotations

import json
import re
import shutil
import ssl
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser.conftest import ARGUMENTS
from tests.containers.deployment import START_SECONDS, Deployment
from tests.containers.test_start import LONG, projection
from tests.servers import wait_until
from tests.service import samples

pytestmark = [pytest.mark.containers, pytest.mark.long]

UNITS = {"": 1, "B": 1, "kB": 1e3, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
# Importing in a second process of the same container is what every start has to pay at least.
TIMED_IMPORT = "import time; t = time.monotonic(); import service.app; print(time.monotonic() - t)"


@pytest.fixture(scope="module")
def dataset_id(deployment: Deployment) -> str:
    with deployment.client() as client:
        return str(client.post("/v1/datasets", json=samples.irises()).raise_for_status().json()["id"])


@pytest.fixture(scope="module")
def undisturbed(deployment: Deployment, dataset_id: str) -> bytes:
    """The projection of a fit during which nothing happens."""
    with deployment.client() as client:
        return ended_projection(client, submit(client, dataset_id))


def submit(client: httpx2.Client, dataset_id: str) -> str:
    """A fit that takes some seconds."""
    return str(client.post("/v1/fits", json={"dataset_id": dataset_id, **LONG}).raise_for_status().json()["id"])


def ended_projection(client: httpx2.Client, fit_id: str) -> bytes:
    """The projection of a fit that has succeeded."""
    fit = samples.wait(client, fit_id)
    assert fit["status"] == "succeeded", fit
    return projection(client, fit["model_id"])


def test_the_page_asks_for_the_key_and_opens(deployment: Deployment) -> None:
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("needs chromium on the path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{deployment.port}/#/fits")
        page.get_by_label("Key", exact=True).last.fill(deployment.key)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Fits")).to_be_visible()
        browser.close()


def test_workers_come_and_go_during_a_fit(deployment: Deployment, dataset_id: str, undisturbed: bytes) -> None:
    with deployment.client() as client:
        fit_id = submit(client, dataset_id)
        for number in ("1", "3", "2"):
            deployment.compose("up", "--detach", "--no-recreate", "--scale", f"worker={number}")
        assert ended_projection(client, fit_id) == undisturbed


@pytest.mark.parametrize("service", ["store", "api", "worker"])
def test_every_process_may_be_killed(deployment: Deployment, dataset_id: str, undisturbed: bytes, service: str) -> None:
    with deployment.client() as client:
        fit_id = submit(client, dataset_id)
        deployment.kill_process(service)
        deployment.wait_healthy()
        assert ended_projection(client, fit_id) == undisturbed


def test_the_whole_may_be_restarted(deployment: Deployment, dataset_id: str, undisturbed: bytes) -> None:
    with deployment.client() as client:
        fit_id = submit(client, dataset_id)
        deployment.compose("restart")
        deployment.wait_healthy()
        assert ended_projection(client, fit_id) == undisturbed


def test_logs_and_metrics_are_those_of_the_operations_page(deployment: Deployment, undisturbed: bytes) -> None:
    printed = re.sub("\x1b.*?K", "", deployment.compose("logs", "--no-log-prefix", "--no-color", "api"))
    lines = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert any(line.get("message") == "request" for line in lines)
    assert deployment.key not in printed
    with deployment.client() as client:
        metrics = client.get("/metrics").raise_for_status().text
    assert re.search(r'^melm_fits_total\{.*status="succeeded".*\} [1-9]', metrics, re.MULTILINE), metrics[:2_000]


def test_memory_stays_below_the_limits(deployment: Deployment, undisturbed: bytes) -> None:
    """After the fits of this page, each container has used at most half of what it may."""
    form = "{{.Name}} {{.MemUsage}}"
    for line in deployment.engine.docker(
        "stats", "--no-stream", "--format", form, *deployment.containers()
    ).splitlines():
        name, used, limit = re.fullmatch(r"(\S+) (\S+) / (\S+)", line).groups()  # type: ignore[union-attr]
        assert n_bytes(used) <= n_bytes(limit) / 2, name


def n_bytes(written: str) -> float:
    """1.5MiB as a number."""
    number, unit = re.fullmatch(r"([\d.]+)(\w*)", written).groups()  # type: ignore[union-attr]
    return float(number) * UNITS[unit]


def test_it_is_ready_soon_after_its_packages_are_imported(deployment: Deployment) -> None:
    """At most 2.5 times what an import of them takes in the same container."""
    container = deployment.containers("api")[0]
    imported = float(deployment.engine.docker("exec", container, "python", "-P", "-c", TIMED_IMPORT))
    deployment.engine.docker("restart", container)
    started = datetime.fromisoformat(deployment.state(container)["StartedAt"])
    with deployment.client() as client:
        wait_until(lambda: is_up(client), START_SECONDS)
    assert (datetime.now(UTC) - started).total_seconds() <= 2.5 * imported
    deployment.wait_healthy()


def is_up(client: httpx2.Client) -> bool:
    """Whether the API answers."""
    with suppress(httpx2.TransportError):
        return client.get("/healthz").is_success
    return False


def test_backup_and_restore(deployment: Deployment, dataset_id: str, undisturbed: bytes, tmp_path: Path) -> None:
    """What was there at the time of the backup is there again, though the volume was lost since."""
    valkey = ("exec", "-T", "store", "valkey-cli")

    def is_rewritten() -> bool:
        return "aof_rewrite_in_progress:0" in deployment.compose(*valkey, "INFO", "persistence")

    deployment.compose(*valkey, "CONFIG", "SET", "auto-aof-rewrite-percentage", "0")
    wait_until(is_rewritten)
    deployment.compose("cp", "store:/data/appendonlydir", str(tmp_path))
    deployment.compose(*valkey, "CONFIG", "SET", "auto-aof-rewrite-percentage", "100")

    deployment.compose("rm", "--stop", "--force", "--volumes", "store")
    deployment.engine.docker("volume", "rm", f"{deployment.name}_store")
    deployment.compose("create", "store")
    deployment.compose("cp", str(tmp_path / "appendonlydir"), "store:/data/")
    as_root = ("run", "--rm", "--no-deps", "-T", "--user", "root", "--cap-add", "CHOWN")
    deployment.compose(*as_root, "store", "chown", "-R", "valkey", "/data/appendonlydir")
    deployment.compose("up", "--detach", "--wait", "--no-recreate")
    with deployment.client() as client:
        assert client.get(f"/v1/datasets/{dataset_id}").status_code == 200
        assert ended_projection(client, submit(client, dataset_id)) == undisturbed


def test_upgrade_with_a_fit_under_way(deployment: Deployment, dataset_id: str, undisturbed: bytes) -> None:
    """A second image of another version takes the service over; the fit is planned again, and ends."""
    project = deployment.folder / "pyproject.toml"
    project.write_text(project.read_text().replace(f'version = "{deployment.version}"', 'version = "99.0.0"'))
    deployment.compose("build", timeout_seconds=900)
    with deployment.client() as client:
        fit_id = submit(client, dataset_id)
        deployment.compose("up", "--detach", "--wait", "--scale", "worker=2")
        assert client.get("/openapi.json").raise_for_status().json()["info"]["version"] == "99.0.0"
        assert ended_projection(client, fit_id) == undisturbed


def test_the_proxy_speaks_tls(deployment: Deployment) -> None:
    deployment.compose("--profile", "tls", "up", "--detach", "--wait", "--no-recreate")
    authority = "/data/caddy/pki/authorities/local/root.crt"
    trusted = ssl.create_default_context(cadata=deployment.compose("exec", "-T", "proxy", "cat", authority))
    headers = {"Authorization": f"Bearer {deployment.key}"}
    with httpx2.Client(base_url=f"https://localhost:{deployment.tls_port}", verify=trusted, headers=headers) as client:
        assert client.get("/v1/fits").status_code == 200
        assert client.get("/v1/fits", headers={"X-Long": "x" * 70_000}).status_code == 431
