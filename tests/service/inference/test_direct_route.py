"""Inference, which does not go FastAPI's way, is answered as everything else is."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from service.app import create_app
from service.inference.direct_route import is_direct
from service.routes import inference
from service.settings import ServiceSettings
from tests.servers import RedisServer
from tests.service.api import api_process, served
from worker.engine import open_engine
from worker.engine.dispatch import CeleryDispatcher

ROW = {"X": [[5.0, 3.0, 4.0, 1.0]]}


def test_the_busiest_handlers_are_direct() -> None:
    names = {route.name for route in inference.router.routes if is_direct(route)}  # type: ignore[arg-type, attr-defined]
    assert {"transform", "predict"} <= names


def test_wrong_methods_are_refused(client: httpx2.Client, model_id: str) -> None:
    response = client.get(f"/v1/models/{model_id}/predict")
    assert response.status_code == 405
    assert response.headers["Allow"] == "POST"
    assert response.json()["request_id"] == response.headers["X-Request-Id"]


def test_requests_are_counted_under_their_route(client: httpx2.Client, model_id: str) -> None:
    assert client.post(f"/v1/models/{model_id}/predict", json=ROW).status_code == 200
    counted = 'melm_requests_total{method="POST",route="/v1/models/{model_id}/predict",status="200"}'
    assert counted in client.get("/metrics").text


@pytest.mark.parametrize("prefix", ["", "/melm"])
def test_behind_a_proxy(server: RedisServer, folder: Path, model_id: str, prefix: str) -> None:
    """Whether the proxy takes its prefix away or not."""
    with api_process(server.url, folder / "prefixed.log", root_path="/melm") as api, api.client() as client:
        response = client.post(f"{prefix}/v1/models/{model_id}/predict", json=ROW)
    assert response.status_code == 200, response.text
    assert response.json()["model_id"] == model_id


def test_failures_that_nobody_expected_are_problems(
    server: RedisServer, model_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    """By both ways, and without a word of what happened inside."""
    settings = ServiceSettings(redis_url=server.url)
    app = create_app(open_engine(settings), CeleryDispatcher(settings), settings)
    app.state.context.models = None
    with served(app) as url:
        for response in (
            httpx2.post(f"{url}/v1/models/{model_id}/predict", json=ROW),
            httpx2.post(f"{url}/v1/models/{model_id}/predict_proba", json=ROW),
        ):
            assert response.status_code == 500
            assert response.headers["Content-Type"] == "application/problem+json"
            assert response.json()["request_id"] == response.headers["X-Request-Id"]
            assert "NoneType" not in response.text
    assert [record.message for record in caplog.records if record.name == "service.request"] == [
        "unexpected failure"
    ] * 2
