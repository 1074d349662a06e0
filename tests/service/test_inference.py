"""Models asked about rows, in every media type."""

import csv
import io
from pathlib import Path
from threading import current_thread
from typing import Any

import httpx2
import numpy as np
import numpy.typing as npt
import pytest

from melm.command import main
from melm.remote import Client
from melm.remote.table_body import TableBody
from melm.typing import ShouldStop
from service.app import create_app
from service.inference.model_cache import CachedModel
from service.intake.formats import NamedArrays
from service.intake.rows import ModelRows
from service.routes import inference
from service.settings import ServiceSettings
from tests.servers import RedisServer
from tests.service import samples
from tests.service.api import Api, served
from worker.engine import open_engine
from worker.engine.dispatch import CeleryDispatcher

X = samples.iris_arrays()[0][::10]


def as_csv(values: npt.NDArray[Any]) -> bytes:
    return "\n".join([",".join(samples.FEATURES), *(",".join(map(repr, row)) for row in values.tolist())]).encode()


def as_arrow(values: npt.NDArray[Any]) -> bytes:
    pa = pytest.importorskip("pyarrow")
    table = pa.table(dict(zip(samples.FEATURES, values.T, strict=True)))
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def as_parquet(values: npt.NDArray[Any]) -> bytes:
    pa = pytest.importorskip("pyarrow")
    sink = io.BytesIO()
    pytest.importorskip("pyarrow.parquet").write_table(
        pa.table(dict(zip(samples.FEATURES, values.T, strict=True))), sink
    )
    return sink.getvalue()


ENCODERS = {
    "text/csv": as_csv,
    "application/x-npy": samples.npy,
    "application/x-npz": lambda values: samples.npz(X=values),
    "application/vnd.apache.arrow.stream": as_arrow,
    "application/vnd.apache.parquet": as_parquet,
}


def read(response: httpx2.Response) -> npt.NDArray[Any]:
    """The numbers of an answer, in whatever media type they came."""
    assert response.status_code == 200, response.text
    media_type = response.headers["Content-Type"].partition(";")[0]
    content = io.BytesIO(response.content)
    if media_type == "application/json":
        return np.array(response.json()["Z"])
    if media_type == "text/csv":
        return np.array([list(map(float, row)) for row in list(csv.reader(io.StringIO(response.text)))[1:]])
    if media_type == "application/x-npy":
        return np.asarray(np.load(content, allow_pickle=False))
    if media_type == "application/x-npz":
        return np.asarray(np.load(content, allow_pickle=False)["Z"])
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.ipc.open_stream(content).read_all() if "arrow" in media_type else parquet.read_table(content)
    return np.column_stack([column.to_numpy() for column in table.columns])


@pytest.mark.parametrize("accept", ["application/json", *ENCODERS])
@pytest.mark.parametrize("sent", ["application/json", *ENCODERS])
def test_every_media_type_gives_the_same_numbers(client: httpx2.Client, model_id: str, sent: str, accept: str) -> None:
    path = f"/v1/models/{model_id}/transform"
    expected = np.array(client.post(path, json={"X": X.tolist()}).json()["Z"])
    headers = {"Content-Type": sent, "Accept": accept}
    if sent == "application/json":
        response = client.post(path, json={"X": X.tolist()}, headers=headers)
    else:
        response = client.post(path, content=ENCODERS[sent](X), headers=headers)
    assert response.headers["Content-Type"].partition(";")[0] == accept
    assert response.headers["Melm-Model-Id"] == model_id
    np.testing.assert_array_equal(read(response), expected)


def test_the_answer_comes_as_the_question_did(client: httpx2.Client, model_id: str) -> None:
    headers = {"Content-Type": "application/x-npy"}
    response = client.post(f"/v1/models/{model_id}/predict", content=samples.npy(X), headers=headers)
    assert response.headers["Content-Type"] == "application/x-npy"
    assert np.load(io.BytesIO(response.content), allow_pickle=False).dtype.kind == "U"


def test_rows_by_name_in_any_order(client: httpx2.Client, model_id: str) -> None:
    rows = [dict(reversed(list(zip(samples.FEATURES, row, strict=True)))) for row in X.tolist()]
    by_name = client.post(f"/v1/models/{model_id}/transform", json={"rows": rows}).json()["Z"]
    by_position = client.post(f"/v1/models/{model_id}/transform", json={"X": X.tolist()}).json()["Z"]
    assert by_name == by_position


def test_probabilities_and_density(client: httpx2.Client, model_id: str) -> None:
    path = f"/v1/models/{model_id}/predict_proba"
    plain = client.post(path, json={"X": X.tolist()}).json()
    assert "log_density" not in plain
    np.testing.assert_allclose(np.sum(plain["probabilities"], axis=1), 1)
    far = [*X.tolist(), [1e3] * 4]
    dense = client.post(f"{path}?log_density=true", json={"X": far}).json()
    assert dense["classes"] == ["setosa", "versicolor", "virginica"]
    assert min(dense["log_density"][:-1]) > -20
    assert dense["log_density"][-1] < -1_000
    table = client.post(f"{path}?log_density=true", json={"X": far}, headers={"Accept": "text/csv"}).text
    assert table.splitlines()[0] == "setosa,versicolor,virginica,log_density"


def test_labels_keep_their_kind(client: httpx2.Client) -> None:
    column = [[float(value)] for value in range(8)]
    for labels in ([0] * 4 + [1] * 4, [False] * 4 + [True] * 4, [0.0] * 4 + [1.0] * 4, ["0"] * 4 + ["1"] * 4):
        ask = {
            "data": {"X": column, "y": labels},
            "method": "pca",
            "params": {"n_components": 1},
            "validation": None,
        }
        fit = samples.fit(client, ask)
        assert fit["status"] == "succeeded", fit["error"]
        predictions = client.post(f"/v1/models/{fit['model_id']}/predict", json={"X": column}).json()["predictions"]
        assert predictions == labels
        assert [type(each) for each in predictions] == [type(each) for each in labels]


def test_large_batches_leave_the_loop(client: httpx2.Client, model_id: str) -> None:
    rows = np.tile(samples.iris_arrays()[0], (200, 1))
    headers = {"Content-Type": "application/x-npy"}
    response = client.post(f"/v1/models/{model_id}/predict", content=samples.npy(rows), headers=headers)
    labels = np.load(io.BytesIO(response.content), allow_pickle=False)
    assert len(labels) == 30_000
    assert (labels[:150] == labels[-150:]).all()


def test_little_work_is_done_at_once_and_much_of_it_leaves_the_loop(
    server: RedisServer, model_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def predict(cached: CachedModel, rows: ModelRows, should_stop: ShouldStop) -> NamedArrays:
        threads.append(current_thread().name)
        return predict_labels(cached, rows, should_stop)

    settings = ServiceSettings(redis_url=server.url, model_check_seconds=3600)
    app = create_app(open_engine(settings), CeleryDispatcher(settings), settings)
    predict_labels = inference.predict_labels
    monkeypatch.setattr(inference, "predict_labels", predict)
    with served(app) as url, httpx2.Client(base_url=url) as client:
        for work in (inference.INLINE_PAIRS, inference.INLINE_PAIRS, 0):
            monkeypatch.setattr(inference, "INLINE_PAIRS", work)
            assert client.post(f"/v1/models/{model_id}/predict", json={"X": X[:1].tolist()}).status_code == 200
    assert [name == "loop" for name in threads] == [False, True, False]  # the first had to read the model


def test_npy_that_is_only_viewed_stays_on_the_loop(
    server: RedisServer, model_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def transform(cached: CachedModel, rows: ModelRows, should_stop: ShouldStop) -> NamedArrays:
        threads.append(current_thread().name)
        return transform_rows(cached, rows, should_stop)

    settings = ServiceSettings(redis_url=server.url, model_check_seconds=3600)
    app = create_app(open_engine(settings), CeleryDispatcher(settings), settings)
    transform_rows = inference.transform_rows
    monkeypatch.setattr(inference, "transform_rows", transform)
    body = samples.npy(np.tile(X, (200, 1)))
    assert len(body) > inference.INLINE_BYTES
    with served(app) as url, httpx2.Client(base_url=url) as client:
        path = f"/v1/models/{model_id}/transform"
        client.post(path, json={"X": X[:1].tolist()})
        for accept in ("application/x-npy", "text/csv"):
            headers = {"Content-Type": "application/x-npy", "Accept": accept}
            assert client.post(path, content=body, headers=headers).status_code == 200
        monkeypatch.setattr(inference, "INLINE_VIEW_BYTES", 0)
        client.post(path, content=body, headers={"Content-Type": "application/x-npy"})
    assert [name == "loop" for name in threads[1:]] == [True, False, False]


def test_no_rows_no_answers(client: httpx2.Client, model_id: str) -> None:
    headers = {"Content-Type": "application/x-npy"}
    response = client.post(f"/v1/models/{model_id}/transform", content=samples.npy(np.empty((0, 4))), headers=headers)
    assert np.load(io.BytesIO(response.content)).shape == (0, 2)


class TestFormulas:
    """Labels that a spreadsheet would compute, in answers of CSV over HTTP, by the client and by the command line."""

    LABEL = '=HYPERLINK("http://foreign.example")'

    @pytest.fixture
    def formula_id(self, api: Api) -> str:
        data = samples.irises()
        data["y"] = [self.LABEL if label == "setosa" else label for label in data["y"]]
        with api.client() as client:
            return str(samples.fit(client, {"data": data, "method": "pca", "validation": None})["model_id"])

    def ask(self, client: httpx2.Client, path: str) -> httpx2.Response:
        return client.post(path, json={"X": X[:1].tolist()}, headers={"Accept": "text/csv"})

    def test_they_are_text_unless_the_client_asks_for_raw_ones(self, client: httpx2.Client, formula_id: str) -> None:
        path = f"/v1/models/{formula_id}"
        assert list(csv.reader(self.ask(client, f"{path}/predict").text.splitlines()))[1] == [f"'{self.LABEL}"]
        assert list(csv.reader(self.ask(client, f"{path}/predict?raw=true").text.splitlines()))[1] == [self.LABEL]
        header = next(csv.reader(self.ask(client, f"{path}/predict_proba").text.splitlines()))
        assert header[0] == f"'{self.LABEL}"
        raw = next(csv.reader(self.ask(client, f"{path}/predict_proba?raw=true").text.splitlines()))
        assert raw[0] == self.LABEL
        numbers = self.ask(client, f"{path}/transform")
        assert numbers.text == self.ask(client, f"{path}/transform?raw=true").text
        assert self.ask(client, f"{path}/predict?raw=maybe").status_code == 422

    def test_our_own_programs_get_raw_ones(self, api: Api, formula_id: str, tmp_path: Path) -> None:
        with Client(api.url) as client:
            body = TableBody(as_csv(X[:1]), "text/csv")
            answer = client.models[formula_id].ask("predict", body, "text/csv").content.decode()
            client.models[formula_id].download(tmp_path / "model.npz")
        assert list(csv.reader(answer.splitlines()))[1] == [self.LABEL]
        (tmp_path / "rows.csv").write_bytes(as_csv(X[:1]))
        for source in ([formula_id, "--url", api.url], [str(tmp_path / "model.npz")]):
            model, *url = source
            written = tmp_path / "labels.csv"
            assert main(["predict", model, str(tmp_path / "rows.csv"), "--output", str(written), *url]) == 0
            assert list(csv.reader(written.read_text().splitlines()))[1] == [self.LABEL]
