"""Every error that a client can get: its status, and a problem document that says what is wrong and how to mend it."""

import io
import json
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest

from tests.servers import redis_server
from tests.service import samples
from tests.service.api import api_process

JSON = {"Content-Type": "application/json"}


def assert_problem(response: httpx2.Response, status: int, *pointers: str) -> dict[str, Any]:
    """The problem document of a response, with all these places among its errors."""
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"]
    assert problem["type"].startswith("urn:melm:problem:")
    assert problem["request_id"] == response.headers["X-Request-Id"]
    errors = problem.get("errors", [])
    places = {place for error in errors for place in (error["pointer"], *error.get("places", []))}
    assert set(pointers) <= places
    assert "Traceback" not in response.text
    return problem


def data(**changes: Any) -> dict[str, Any]:
    """A small sound body, changed."""
    return {"X": [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]], "y": ["a", "a", "b", "b"]} | changes


class TestDatasets:
    @pytest.mark.parametrize(
        ("body", "pointers"),
        [
            (data(y=["a"] * 4), ["/y"]),
            (data(y=["a", "a", "a", "b"]), ["/y"]),
            (data(y=["a", "a", "b"]), ["/y"]),
            (data(y=["a", 1, "b", "b"]), ["/y"]),
            (data(y=[0.5, 0.5, 1.5, 1.5]), ["/y"]),
            (data(y=["a", None, "b", "b"]), ["/y/1"]),
            (data(X=[[0, 1], [1], [2, 3], [3]]), ["/X/1", "/X/3"]),
            (data(X=[[0, "x"], [1, None], [2, 3], [3, True]]), ["/X/0/1", "/X/1/1", "/X/3/1"]),
            (data(X=[[1, 1]] * 4), ["/X"]),
            (data(X=[[]] * 4), ["/X"]),
            (data(X=[], y=[]), ["/X", "/y"]),
            (data(feature_names=["one"]), ["/feature_names"]),
            (data(feature_names=["one", "one"]), ["/feature_names"]),
            (data(colour="red"), ["/colour"]),
            ({"X": [[1, 2], [3, 4]]}, ["/y"]),
            ({"y": [1, 2]}, [""]),
            ([1, 2], [""]),
            (data(metadata={"a": 1}), ["/metadata"]),
            (data(name=7), ["/name"]),
        ],
    )
    def test_unusable_content(self, client: httpx2.Client, body: Any, pointers: list[str]) -> None:
        assert_problem(client.post("/v1/datasets", json=body), 422, *pointers)

    @pytest.mark.parametrize("cell", ["NaN", "Infinity", "-Infinity", "1e999"])
    def test_what_is_not_finite_is_named_by_row_and_column(self, client: httpx2.Client, cell: str) -> None:
        content = json.dumps(data()).replace("3.0, 2.0", f"3.0, {cell}")
        problem = assert_problem(client.post("/v1/datasets", content=content, headers=JSON), 422, "/X/3/1")
        assert "row index 3, column 1" in problem["errors"][0]["detail"]
        assert problem["errors"][0]["fix"] == "send a finite number"

    def test_several_errors_come_at_once(self, client: httpx2.Client) -> None:
        body = data(X=[[0, float("inf")], [1, 0], [2, 3], [3, 2]], y=["a"] * 4, feature_names=["one"])
        response = client.post("/v1/datasets", content=json.dumps(body), headers=JSON)
        assert_problem(response, 422, "/X/0/1")
        arrays = {"X": np.array([[0, np.inf], [1, 0]]), "y": np.array([1, 1]), "feature_names": np.array(["a"])}
        npz = client.post("/v1/datasets", content=samples.npz(**arrays), headers={"Content-Type": "application/x-npz"})
        assert_problem(npz, 422, "/X/0/1", "/y", "/feature_names")

    @pytest.mark.parametrize(
        ("media_type", "body"),
        [
            ("application/json", b'{"X": [[1, 2]'),
            ("application/json", b"[" * 100_000),
            ("text/csv", b"a,y\n\xff\0,1"),
            ("application/x-npz", b"PK\x03\x04 no zip file"),
            ("application/x-npy", b"\x93NUMPY\x01\x00"),
            ("application/vnd.apache.arrow.stream", b"\xff\xff\xff\xff\x00"),
            ("application/vnd.apache.parquet", b"PAR1 no parquet"),
        ],
    )
    def test_malformed_bodies(self, client: httpx2.Client, media_type: str, body: bytes) -> None:
        assert_problem(client.post("/v1/datasets", content=body, headers={"Content-Type": media_type}), 400)

    def test_media_types(self, client: httpx2.Client) -> None:
        problem = assert_problem(client.post("/v1/datasets", content=b"x", headers={"Content-Type": "image/png"}), 415)
        assert "text/csv" in problem["supported"]
        packed = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        assert_problem(client.post("/v1/datasets", content=b"x", headers=packed), 415)

    def test_too_large(self, client: httpx2.Client) -> None:
        problem = assert_problem(client.post("/v1/datasets", content=b"x" * 8_000_001, headers=JSON), 413)
        assert problem["limit_bytes"] == 8_000_000

        def stream() -> Any:
            for _ in range(9):
                yield b"x" * 1_000_000

        assert_problem(client.post("/v1/datasets", content=stream(), headers=JSON), 413)

    def test_csv_content(self, client: httpx2.Client) -> None:
        csv = {"Content-Type": "text/csv"}
        body = b"a,b,y\n" + b"1,3,p\n2,4,q\n" * 5 + b"5,six,q\n5,6,q,7\n5\n"
        problem = assert_problem(
            client.post("/v1/datasets?target=y", content=body, headers=csv), 422, "/10/b", "/11", "/12"
        )
        assert any("missing_values='six'" in error["fix"] for error in problem["errors"])
        problem = assert_problem(client.post("/v1/datasets?target=z", content=body, headers=csv), 422)
        assert "columns: a, b, y" in problem["errors"][0]["fix"]
        assert_problem(client.post("/v1/datasets", content=b"a,b\n1,2\n3,4", headers=csv), 422, "/y")


class TestFits:
    def test_parameters(self, client: httpx2.Client, dataset_id: str) -> None:
        params = {"n_components": 0, "gamma": -1, "n_starts": "many", "nonsense": 1}
        body = {"dataset_id": dataset_id, "params": params, "validation": {"folds": 1}, "colour": "red"}
        assert_problem(
            client.post("/v1/fits", json=body),
            422,
            *("/params/n_components", "/params/n_starts", "/params/nonsense", "/validation/folds", "/colour"),
        )

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({"params": {"n_components": 5}}, "/params/n_components"),
            ({"params": {"regularization": None, "n_starts": 5_001}}, "/params/n_starts"),
            ({"params": {"time_budget_seconds": 1e9}}, "/params/time_budget_seconds"),
            ({"params": {"priors": [0.5, 0.5]}}, "/params/priors"),
            ({"method": "pca", "params": {"regularization": None, "n_starts": 3}}, "/params/n_starts"),
            ({"method": "magic"}, "/method"),
            ({"method": 3}, "/method"),
            ({"data": data()}, ""),
            ({"metadata": {"a": 1}}, "/metadata/a"),
        ],
    )
    def test_bodies(self, client: httpx2.Client, dataset_id: str, body: dict[str, Any], pointer: str) -> None:
        assert_problem(client.post("/v1/fits", json={"dataset_id": dataset_id} | body), 422, pointer)

    def test_errors_of_rows_and_parameters_come_together(self, client: httpx2.Client) -> None:
        body = {"data": data(y=["a"] * 4), "params": {"n_components": 0}}
        assert_problem(client.post("/v1/fits", json=body), 422, "/data/y", "/params/n_components")

    def test_neither_rows_nor_dataset(self, client: httpx2.Client) -> None:
        assert_problem(client.post("/v1/fits", json={"params": {}}), 422, "")
        assert_problem(client.post("/v1/fits", json=[]), 422, "")
        assert_problem(client.post("/v1/fits", content=b"{", headers=JSON), 400)
        assert_problem(client.post("/v1/fits", content=b"a,b", headers={"Content-Type": "text/csv"}), 415)

    def test_unknown_dataset(self, client: httpx2.Client) -> None:
        assert_problem(client.post("/v1/fits", json={"dataset_id": "ds_nothing"}), 404)

    @pytest.mark.parametrize("path", ["", "/events", "/events/stream"])
    def test_unknown_fit(self, client: httpx2.Client, path: str) -> None:
        assert_problem(client.get(f"/v1/fits/fit_nothing{path}"), 404)

    @pytest.mark.parametrize("action", ["cancel", "retry"])
    def test_unknown_fit_to_act_on(self, client: httpx2.Client, action: str) -> None:
        assert_problem(client.post(f"/v1/fits/fit_nothing/{action}"), 404)

    def test_queries(self, client: httpx2.Client) -> None:
        assert_problem(client.get("/v1/fits?limit=0"), 422, "/query/limit")
        assert_problem(client.get("/v1/fits?status=sleeping"), 422, "/query/status")
        assert_problem(client.get("/v1/fits/fit_nothing/events?after=yesterday"), 422, "/query/after")

    def test_retry_of_a_fit_that_succeeded(self, client: httpx2.Client, dataset_id: str) -> None:
        fit = samples.fit(client, {"dataset_id": dataset_id, "method": "pca", "validation": None})
        assert_problem(client.post(f"/v1/fits/{fit['id']}/retry"), 409)


class TestModels:
    def test_unknown(self, client: httpx2.Client) -> None:
        for path in ("", "/file", "/schema", "/plot", "/plot.svg"):
            assert_problem(client.get(f"/v1/models/mdl_nothing{path}"), 404)
        assert_problem(client.post("/v1/models/champion-of-none/predict", json={"X": [[1]]}), 404)
        assert_problem(client.delete("/v1/models/mdl_nothing"), 404)

    @pytest.mark.parametrize("operation", ["transform", "predict", "predict_proba", "score"])
    def test_rows(self, client: httpx2.Client, model_id: str, operation: str) -> None:
        path = f"/v1/models/{model_id}/{operation}"
        assert_problem(client.post(path, json={"X": [[1, 2]], "y": ["setosa"]}), 422, "/X")
        assert_problem(client.post(path, json={"X": [[1, 2, 3, "4"]], "y": ["setosa"]}), 422, "/X/0/3")
        assert_problem(client.post(path, json={"rows": [{"a": 1}], "y": ["setosa"]}), 422)
        assert_problem(client.post(path, content=b"{", headers=JSON), 400)
        assert_problem(client.post(path, content=b"x", headers={"Content-Type": "image/png"}), 415)

    def test_accept(self, client: httpx2.Client, model_id: str) -> None:
        rows = {"X": [[1, 2, 3, 4]]}
        headers = {"Accept": "image/png"}
        problem = assert_problem(client.post(f"/v1/models/{model_id}/predict", json=rows, headers=headers), 406)
        assert "application/x-npy" in problem["supported"]
        assert_problem(client.get(f"/v1/models/{model_id}/file", headers=headers), 406)

    def test_labels(self, client: httpx2.Client, model_id: str) -> None:
        path = f"/v1/models/{model_id}/score"
        assert_problem(client.post(path, json={"X": [[1, 2, 3, 4]], "y": ["rose"]}), 422, "/y")
        assert_problem(client.post(path, json={"X": [[1, 2, 3, 4]], "y": [3]}), 422, "/y")
        assert_problem(client.post(path, json={"X": [[1, 2, 3, 4]]}), 422, "/y")
        assert_problem(client.post(path, json={"X": [[1, 2, 3, 4]], "y": ["setosa"] * 2}), 422, "/y")

    def test_import(self, client: httpx2.Client, model_id: str) -> None:
        npz = {"Content-Type": "application/x-npz"}
        assert_problem(client.post("/v1/models", content=b"nothing", headers=npz), 400)
        assert_problem(client.post("/v1/models", content=samples.npz(X=np.ones(3)), headers=npz), 422, "")
        assert_problem(client.post("/v1/models", content=b"{}", headers=JSON), 415)
        file = client.get(f"/v1/models/{model_id}/file").content
        with np.load(io.BytesIO(file)) as loaded:
            arrays = dict(loaded)
        skewed = samples.npz(**{**arrays, "projection": arrays["projection"] * 2})
        assert_problem(client.post("/v1/models", content=skewed, headers=npz), 422, "/projection")
        infinite = samples.npz(**{**arrays, "projection": arrays["projection"] * np.inf})
        assert_problem(client.post("/v1/models", content=infinite, headers=npz), 422)

    def test_aliases(self, client: httpx2.Client, model_id: str) -> None:
        assert_problem(client.get("/v1/aliases/nobody"), 404)
        assert_problem(client.delete("/v1/aliases/nobody"), 404)
        assert_problem(client.put("/v1/aliases/mdl_1", json={"model_id": model_id}), 422, "/path/alias")
        assert_problem(client.put("/v1/aliases/errors", json={"model_id": "mdl_nothing"}), 404)
        assert_problem(client.put("/v1/aliases/errors", json={}), 422, "/model_id")
        assert_problem(client.put("/v1/aliases/errors", content=b"{", headers=JSON), 400)
        match = {"If-Match": '"7"'}
        assert_problem(client.put("/v1/aliases/errors", json={"model_id": model_id}, headers=match), 412)
        assert_problem(client.put("/v1/aliases/errors", json={"model_id": model_id}, headers={"If-Match": "x"}), 412)

    def test_a_model_that_an_alias_names_stays(self, client: httpx2.Client, dataset_id: str) -> None:
        model = samples.fit(client, {"dataset_id": dataset_id, "method": "lda", "validation": None, "force": True})
        client.put("/v1/aliases/keeper", json={"model_id": model["model_id"]})
        assert_problem(client.delete(f"/v1/models/{model['model_id']}"), 409)
        assert client.delete("/v1/aliases/keeper").status_code == 204
        assert client.delete(f"/v1/models/{model['model_id']}").status_code == 204
        assert_problem(client.get(f"/v1/models/{model['model_id']}"), 410)
        assert_problem(client.post(f"/v1/models/{model['model_id']}/predict", json={"X": [[1, 2, 3, 4]]}), 410)


class TestElsewhere:
    def test_paths_and_methods(self, client: httpx2.Client) -> None:
        assert_problem(client.get("/v1/nothing"), 404)
        response = client.patch("/v1/fits")
        assert_problem(response, 405)
        assert "POST" in response.headers["Allow"]

    def test_store_away_and_back(self, tmp_path: Path) -> None:
        """503 with a time to come back, while what is cached is still served."""
        with (
            redis_server(tmp_path / "redis") as server,
            api_process(server.url, tmp_path / "api.log", store_timeout_seconds=1) as api,
            api.client() as client,
        ):
            model = client.post("/v1/models", content=tiny_model(), headers={"Content-Type": "application/x-npz"})
            path = f"/v1/models/{model.json()['id']}/predict"
            assert client.post(path, json={"X": [[1.0, 2.0]]}).status_code == 200
            server.kill()
            for response in (
                client.post("/v1/fits", json={"data": data()}),
                client.get("/v1/fits"),
                client.get("/v1/fits/fit_1"),
                client.post("/v1/datasets", json=data()),
                client.get("/metrics"),
            ):
                assert_problem(response, 503)
                assert int(response.headers["Retry-After"]) > 0
            assert client.get("/healthz").status_code == 200
            assert client.get("/readyz").json()["store"] is False
            assert client.post(path, json={"X": [[1.0, 2.0]]}).status_code == 200
            server.start()
            assert client.post("/v1/fits", json={"data": data()}).status_code == 202

    def test_slow_upload(self, tmp_path: Path) -> None:
        import socket

        with (
            redis_server(tmp_path / "redis") as server,
            api_process(server.url, tmp_path / "api.log", upload_timeout_seconds=0.3) as api,
        ):
            host, port = api.url.removeprefix("http://").split(":")
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                head = b"POST /v1/datasets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n"
                connection.sendall(head + b"Content-Type: application/json\r\n\r\n{")
                answer = connection.recv(4096)
            assert answer.startswith(b"HTTP/1.1 408")


def tiny_model() -> bytes:
    """A model made here, without a fit."""
    from melm import MELM
    from melm.model import file as model_file

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return model_file.dump(MELM(regularization=None, n_components=1, n_starts=1).fit(X, X[:, 0] > 0).model_)


class TestWording:
    """All words are the service's own, and one place has one entry."""

    @pytest.mark.parametrize(
        ("params", "pointer", "detail", "fix"),
        [
            ({"gamma": -1}, "/params/gamma", "gamma must be greater than 0 or a list or 'auto', not -1", None),
            ({"n_start": 4}, "/params/n_start", "'n_start' is not known here", "did you mean 'n_starts'?"),
            ({"n_starts": "many"}, "/params/n_starts", 'n_starts must be a whole number, not "many"', None),
            ({"n_starts": 0}, "/params/n_starts", "n_starts must be at least 1, not 0", None),
            ({"covariance": "full"}, "/params/covariance", "must be 'ledoit_wolf' or 'empirical', not \"full\"", None),
            ({"tolerance": None}, "/params/tolerance", "tolerance must be a number, not null", None),
        ],
    )
    def test_parameters(
        self, client: httpx2.Client, dataset_id: str, params: dict[str, Any], pointer: str, detail: str, fix: str | None
    ) -> None:
        answer = client.post("/v1/fits", json={"dataset_id": dataset_id, "params": params})
        (error,) = assert_problem(answer, 422, pointer)["errors"]
        assert detail in error["detail"]
        assert error.get("fix") == fix

    def test_a_misspelled_method(self, client: httpx2.Client, dataset_id: str) -> None:
        answer = client.post("/v1/fits", json={"dataset_id": dataset_id, "method": "mlem"})
        assert assert_problem(answer, 422, "/method")["errors"][0]["fix"] == "did you mean 'melm'?"

    def test_a_missing_member_is_named(self, client: httpx2.Client) -> None:
        (error,) = assert_problem(client.put("/v1/aliases/best", json={}), 422, "/model_id")["errors"]
        assert error["detail"] == "model_id is missing"

    def test_any_amount_of_wrongness_is_answered_in_16_kb(self, client: httpx2.Client) -> None:
        params = {f"{'x' * 600}{index}": index for index in range(3000)}
        answer = client.post("/v1/fits", json={"dataset_id": "ds_1", "params": params})
        problem = assert_problem(answer, 422)
        assert len(answer.content) < 16_384
        assert problem["n_more_errors"] == 3000 - len(problem["errors"])

    @pytest.mark.parametrize(
        ("body", "detail", "count"),
        [
            (data(X=[[0, 1], *[[1]] * 3000], y=["a", "b"] * 1500), "row index 1 has 1 values, row index 0 has 2", 3000),
            (data(X=[[0, None]] * 3000, y=["a", "b"] * 1500), "row index 0, column 1: the value is missing", 3000),
            (data(X=[[i, 1] for i in range(2000)], y=list(range(2000))), "2000 classes have 1 row each", 2000),
        ],
    )
    def test_equal_problems_are_one_entry(
        self, client: httpx2.Client, body: dict[str, Any], detail: str, count: int
    ) -> None:
        answer = client.post("/v1/datasets", json=body)
        (error,) = assert_problem(answer, 422)["errors"]
        assert error["detail"].startswith(detail)
        assert error["count"] == count
        assert len(error.get("places", [])) <= 5
        assert len(answer.content) < 16_384

    def test_cells_of_csv_are_counted_by_column(self, client: httpx2.Client) -> None:
        rows = "".join(f"{index}.5,{'a' if index % 2 else 'b'}\n" for index in range(200))
        text = f"x,y\n{rows}" + "".join(f"oops{index},a\n" for index in range(20))
        answer = client.post("/v1/datasets?target=y", content=text, headers={"Content-Type": "text/csv"})
        (error,) = assert_problem(answer, 422, "/200/x")["errors"]
        assert error["count"] == 20
        assert error["places"] == [f"/{row}/x" for row in range(200, 205)]
