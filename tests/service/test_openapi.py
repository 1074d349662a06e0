"""The OpenAPI document: the one that the application gives, sound to every judge, and of use to clients."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from openapi_spec_validator import validate

from melm.methods import METHODS
from service import openapi
from service.app import create_app
from service.settings import ServiceSettings
from tests.servers import ROOT, redis_server, worker_process
from tests.service import samples
from tests.service.api import Api, api_process
from worker.engine import open_engine
from worker.engine.dispatch import CeleryDispatcher

NODE = Path(__file__).parent / "node"
METHODS_OF_HTTP = {"get", "put", "post", "delete"}
FILE = ROOT / "openapi.yaml"
SCHEMATHESIS = Path(__file__).parent / "schemathesis.toml"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return loaded


@pytest.fixture(scope="module")
def node() -> Path:
    """The folder of the JavaScript tools, installed once."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: redocly, spectral and the TypeScript client are not run")
    if not (NODE / "node_modules" / ".package-lock.json").exists():
        run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", folder=NODE)
    return NODE


def run(*command: str, folder: Path, **variables: str) -> str:
    """What a command says; fails with it."""
    environment = {**os.environ, "npm_config_update_notifier": "false", "REDOCLY_TELEMETRY": "off", **variables}
    ended = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
    )
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert method in METHODS_OF_HTTP
            yield f"{method.upper()} {path}", operation


def test_file_is_what_the_application_says() -> None:
    settings = ServiceSettings()
    app = create_app(open_engine(settings), CeleryDispatcher(settings), settings)
    assert FILE.read_text() == openapi.render(app), "write it anew: python -m service.openapi"


def test_served_as_committed(api: Api, document: dict[str, Any]) -> None:
    with api.client() as client:
        assert client.get("/openapi.json").json() == document


def test_sound(document: dict[str, Any]) -> None:
    validate(document)
    assert document["openapi"].startswith("3.1.")


def test_every_operation_is_complete(document: dict[str, Any]) -> None:
    names = []
    for name, operation in operations(document):
        names.append(operation["operationId"])
        assert operation["summary"], name
        assert len(operation["tags"]) == 1, name
        assert has_example(operation, document), name
        problems = [each for status, each in operation["responses"].items() if status[0] in "45"]
        assert problems or operation["operationId"] == "getHealth", name
        for problem in problems:
            if operation["operationId"] != "getReadiness":
                assert list(problem["content"]) == ["application/problem+json"], name
    assert len(set(names)) == len(names)


def has_example(part: Any, document: dict[str, Any]) -> bool:
    """Whether an example can be seen in what an operation takes or gives, directly or behind a reference."""
    if isinstance(part, list):
        return any(has_example(each, document) for each in part)
    if not isinstance(part, dict):
        return False
    if "example" in part or "examples" in part:
        return True
    reference = part.get("$ref", "#/components/schemas/ProblemDocument")
    if not reference.endswith("/Problem"):
        return has_example(document["components"]["schemas"][reference.rpartition("/")[2]], document)
    return any(has_example(each, document) for each in part.values())


def test_every_method_has_its_body(document: dict[str, Any]) -> None:
    bodies = document["paths"]["/v1/fits"]["post"]["requestBody"]["content"]["application/json"]["schema"]["anyOf"]
    schemas = [document["components"]["schemas"][body["$ref"].rpartition("/")[2]] for body in bodies]
    assert {schema["properties"]["method"]["const"] for schema in schemas} == set(METHODS)


@pytest.mark.slow
def test_redocly(node: Path) -> None:
    run("npx", "redocly", "lint", str(FILE), folder=node)


@pytest.mark.slow
def test_spectral(node: Path) -> None:
    said = run(
        "npx", "spectral", "lint", "--ruleset", "spectral.yaml", "--fail-severity", "error", str(FILE), folder=node
    )
    assert "0 errors" in said or "No results" in said


@pytest.mark.slow
def test_typescript_client_compiles_and_makes_a_fit(node: Path, api: Api, tmp_path: Path) -> None:
    for name in ("package.json", "tsconfig.json", "fit.ts"):
        shutil.copy(node / name, tmp_path)
    (tmp_path / "node_modules").symlink_to(node / "node_modules")
    run("npx", "openapi-typescript", str(FILE), "-o", "schema.ts", "--default-non-nullable=false", folder=tmp_path)
    run("npx", "tsc", folder=tmp_path)
    said = json.loads(run("node", "build/fit.js", api.url, folder=tmp_path).splitlines()[-1])
    assert said["status"] == "succeeded"
    assert said["right"] > said["total"] / 2


@pytest.mark.slow
def test_schemathesis_finds_no_violation(tmp_path: Path) -> None:
    """On a service of its own: it deletes what it finds."""
    with (
        redis_server(tmp_path / "redis") as server,
        worker_process(server.url, tmp_path / "worker.log", worker_processes=2),
        api_process(server.url, tmp_path / "api.log", max_body_bytes=8_000_000) as api,
    ):
        with api.client() as client:
            dataset = client.post("/v1/datasets", json=samples.irises()).json()
            fit = samples.fit(client, {"dataset_id": dataset["id"], "method": "pca", "validation": None})
            client.put("/v1/aliases/schemathesis", json={"model_id": fit["model_id"]})
        run(
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(SCHEMATHESIS)),
            *("run", str(FILE), "--url", api.url, "--no-color", "--request-timeout", "30"),
            folder=ROOT,
            SCHEMATHESIS_HOOKS="tests.service.schemathesis_hooks",
            MODEL="schemathesis",
            FIT=fit["id"],
        )
