"""Health, readiness, metrics, logs, settings."""

import json
import re
from dataclasses import fields
from pathlib import Path

import httpx2
import pytest

from service.settings import ServiceSettings
from tests.servers import ROOT, RedisServer, wait_until
from tests.service import samples
from tests.service.api import Api, api_process
from worker.store.errors import SettingsError
from worker.store.settings import Settings, variable


def values(text: str, name: str) -> dict[str, float]:
    """The values of a metric by its labels."""
    found = re.findall(rf"^{name}(\{{.*\}})? (\S+)$", text, flags=re.MULTILINE)
    return {labels: float(value) for labels, value in found}


def test_health_and_readiness(client: httpx2.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    ready = client.get("/readyz?for=fits")
    assert ready.status_code == 200
    assert ready.json()["workers"] == 1
    assert ready.json()["moving"]


def test_metrics_count_requests_and_fits(client: httpx2.Client, dataset_id: str, model_id: str) -> None:
    route = "/v1/models/{model_id}/predict"
    labels = f'{{method="POST",route="{route}",status="200"}}'
    before = client.get("/metrics").text
    samples.fit(client, {"dataset_id": dataset_id, "method": "pca", "validation": None, "force": True})
    client.post(f"/v1/models/{model_id}/predict", json={"X": [[1, 2, 3, 4]]})
    succeeded = '{status="succeeded"}'
    n_succeeded = values(before, "melm_fits_total")[succeeded] + 1
    wait_until(lambda: values(client.get("/metrics").text, "melm_fits_total")[succeeded] == n_succeeded)
    after = client.get("/metrics").text
    assert values(after, "melm_requests_total")[labels] == values(before, "melm_requests_total").get(labels, 0) + 1
    assert values(after, "melm_fit_seconds_count")[""] == values(before, "melm_fit_seconds_count")[""] + 1
    assert values(after, "melm_start_seconds_count")[""] >= 1
    assert values(after, "melm_recoveries_total")[""] >= 0
    assert values(after, "melm_queued_fits")[""] >= 0
    json_in = '{direction="in",media_type="application/json"}'
    assert values(after, "melm_payload_bytes_total")[json_in] > values(before, "melm_payload_bytes_total")[json_in]


def test_metrics_are_right_over_several_processes(server: RedisServer, folder: Path, model_id: str) -> None:
    labels = '{method="GET",route="/v1/models",status="200"}'
    with api_process(server.url, folder / "several.log", api_processes=2) as api:
        for _ in range(40):
            with api.client() as client:  # a connection of its own, which either process may take
                assert client.get("/v1/models").status_code == 200
        with api.client() as client:
            assert values(client.get("/metrics").text, "melm_requests_total")[labels] == 40


def test_unknown_paths_do_not_make_metrics(client: httpx2.Client) -> None:
    client.get("/no/such/path")
    assert "/no/such/path" not in client.get("/metrics").text


def test_logs_are_json_with_ids(api: Api, client: httpx2.Client, dataset_id: str) -> None:
    fit = samples.fit(client, {"dataset_id": dataset_id, "method": "pca", "validation": None})
    response = client.get(f"/v1/fits/{fit['id']}", headers={"X-Request-Id": "my-own.id"})
    assert response.headers["X-Request-Id"] == "my-own.id"
    wait_until(lambda: "my-own.id" in api.log.read_text())
    lines = [json.loads(line) for line in api.log.read_text().splitlines()]
    (mine,) = [line for line in lines if line.get("request_id") == "my-own.id"]
    assert mine["fit_id"] == fit["id"]
    assert mine["route"] == "/v1/fits/{fit_id}"
    assert mine["status"] == 200
    assert all({"at", "level", "logger", "message"} <= line.keys() for line in lines)


def test_answers_cannot_be_taken_for_something_else(client: httpx2.Client) -> None:
    for path in ("/", "/healthz", "/v1/nothing"):
        assert "nosniff" in client.get(path).headers["X-Content-Type-Options"]
    assert "default-src" in client.get("/").headers["Content-Security-Policy"]


class TestSettings:
    def test_read_from_variables(self) -> None:
        environment = {"MELM_PORT": "9", "MELM_ROOT_PATH": "/x", "MELM_MAX_ROWS": "5", "MELM_LEASE_SECONDS": "2.5"}
        settings = ServiceSettings.from_environment(environment)
        assert (settings.port, settings.root_path, settings.max_rows, settings.lease_seconds) == (9, "/x", 5, 2.5)
        assert ServiceSettings.from_environment({}) == ServiceSettings()

    @pytest.mark.parametrize("text", ["many", "-1", "inf"])
    def test_nonsense_is_named(self, text: str) -> None:
        with pytest.raises(SettingsError, match="MELM_UPLOAD_TIMEOUT_SECONDS"):
            ServiceSettings.from_environment({"MELM_UPLOAD_TIMEOUT_SECONDS": text})

    def test_every_one_is_documented(self) -> None:
        documented = (ROOT / "docs" / "http.md").read_text()
        own = {field.name for field in fields(ServiceSettings)} - {field.name for field in fields(Settings)}
        assert own
        for field in fields(ServiceSettings):
            if field.name in own:
                assert f"| `{variable(field.name)}` |" in documented
                assert field.metadata["meaning"] in documented
