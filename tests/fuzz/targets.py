"""What is fuzzed: every function that reads what somebody else has written, with what it is fed and may raise."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from melm.command.local_fit import fit_locally
from melm.model import Model
from melm.model import file as model_file
from melm.tables.options import ENCODINGS, ReadOptions
from service import submission
from service.dependencies import get_wait_seconds
from service.errors import RequestError
from service.intake import body
from service.intake.form import UploadForm
from service.intake.formats import CODECS, Limits, codec_for_answer, codec_for_body, npy
from service.intake.model_import import read_model
from service.intake.rows import read_rows
from service.intake.table_query import parse_query
from service.intake.upload import Reception, parse_roles, read_upload
from service.pictures import plot
from service.routes.models import matches
from service.schemas import AliasPut, ModelOut, ReadingOut
from service.security.keys import parse_keys
from tests.fuzz import bodies
from tests.fuzz.inputs import MEMBERS, VALUES, Bodies, bodies_of, mutated
from worker.store.errors import SettingsError
from worker.store.records import ModelRecord

LIMITS = Limits(bytes=1 << 20, rows=100_000, columns=1_000)
CSV_OPTIONS = [
    ReadOptions(),
    ReadOptions(target="y"),
    ReadOptions(delimiter=";", decimal=","),
    ReadOptions(columns={"width": "numeric", "color": "categorical"}, missing_values=("?", "-")),
    ReadOptions(target="y", columns={"width": "id", "height": "group", "color": "info"}),
    *(ReadOptions(encoding=encoding) for encoding in (*ENCODINGS, "rot13", "zip", "no such")),
    ReadOptions(delimiter="\n"),
    ReadOptions(delimiter='"', decimal='"'),
    ReadOptions(columns={"width": "what"}),
]
RECORD = ModelRecord(
    id="mdl_1",
    created_at=datetime.now(UTC),
    method="melm",
    fit_id=None,
    dataset_id=None,
    n_bytes=1,
    digest="0" * 64,
)


@dataclass(frozen=True)
class Target:
    """A parser: what it is fed, and the errors in which it may end."""

    name: str
    parse: Callable[[Any], object]
    inputs: st.SearchStrategy[Any]
    hostile: tuple[Any, ...] = ()  # fed first, as they are
    declared: type[Exception] = RequestError


@cache
def model_of(media_type: str, content: bytes) -> Model:
    """A small model of a table, to be asked."""
    upload = read_upload(CODECS[media_type], content, LIMITS, ReadOptions(target="y"))
    return fit_locally("melm", upload, {"n_components": 1, "regularization": None, "n_starts": 1}, {"folds": 2})


def models() -> list[Model]:
    """One of a matrix, one of a table with text and gaps."""
    matrix = b'{"X": %s, "y": %s}' % tuple(json.dumps(each.tolist()).encode() for each in (bodies.ROWS, bodies.LABELS))
    table = b"width,color,y\n" + b"1,red,a\n2,blue,b\n,red,a\n5,,b\n" * 5
    return [model_of("application/json", matrix), model_of("text/csv", table)]


def inspect(media_type: str) -> Target:
    """A dry run of a body, as the query says that it is to be read."""

    def parse(given: tuple[bytes, ReadOptions]) -> object:
        reception = Reception(CODECS[media_type], LIMITS, given[1], is_dry=True)
        reception.take(given[0])
        return ReadingOut.of(reception.inspect()).model_dump_json()

    inputs = st.tuples(bodies_of(media_type), st.sampled_from(CSV_OPTIONS))
    hostile = tuple((content, ReadOptions()) for content in bodies.HOSTILE[media_type])
    return Target(f"inspect {media_type}", parse, inputs, hostile)


def upload(media_type: str) -> Target:
    """A body on its way to a dataset, as the query says that it is to be read."""

    def parse(given: tuple[bytes, ReadOptions, Any]) -> object:
        return read_upload(CODECS[media_type], given[0], LIMITS, replace(given[1], missing=given[2]))

    inputs = st.tuples(bodies_of(media_type), st.sampled_from(CSV_OPTIONS), st.sampled_from(["impute", "refuse"]))
    hostile = tuple((content, ReadOptions(target="y"), "impute") for content in bodies.HOSTILE[media_type])
    return Target(f"upload {media_type}", parse, inputs, hostile)


def ask(media_type: str) -> Target:
    """Rows for a model, and its answer."""

    def parse(given: tuple[bytes, int, ReadOptions]) -> object:
        model = models()[given[1]]
        rows = read_rows(CODECS[media_type], given[0], LIMITS, model, given[2])
        return model.predict_proba(rows.X)

    inputs = st.tuples(bodies_of(media_type), st.integers(0, 1), st.sampled_from(CSV_OPTIONS))
    hostile = tuple((content, which, ReadOptions()) for content in bodies.HOSTILE[media_type] for which in (0, 1))
    return Target(f"ask {media_type}", parse, inputs, hostile)


@st.composite
def model_files(draw: st.DrawFn) -> bytes:
    """Files of models with bytes changed, arrays exchanged, or anything in the card."""
    files = [model_file.dump(model) for model in models()]
    if draw(st.booleans()):
        return draw(mutated(files))
    arrays = npy.read_npz(draw(st.sampled_from(files)), LIMITS)
    members = {name: npy.write_npy(array) for name, array in arrays.items()}
    for name in draw(st.sets(st.sampled_from(sorted(members)), max_size=2)):
        array = arrays[name]
        if name == "header":
            header = json.loads(array.tobytes())
            place = header if draw(st.booleans()) else header["card"]
            place[draw(st.sampled_from(sorted(place)))] = draw(VALUES)
            members[name] = npy.write_npy(np.frombuffer(json.dumps(header).encode(), np.uint8))
        else:
            kind = draw(st.sampled_from(["<f8", "<U3", "<f4", "|b1"]))
            shape = draw(st.sampled_from([array.shape, (*array.shape, 1), (0,), (3, 3), (), array.shape[:1]]))
            filled = np.full(shape, draw(st.sampled_from([0, 1, 100, 0.5, 1e30])))
            members[name] = npy.write_npy(filled.astype(kind))
    return bodies.archive(members)


def use_model(content: bytes) -> object:
    """A model that was let in can be shown and asked."""
    model = read_model(content, LIMITS)
    out = ModelOut.with_card(RECORD, model)
    return out.model_dump_json(), plot.draw(plot.describe(model, "mdl_1")), ask_model(model)


def ask_model(model: Model) -> object:
    """Rows of zeros are as good as any."""
    return model.predict(np.zeros((2, len(model.projection))))


@st.composite
def fit_bodies(draw: st.DrawFn) -> bytes:
    """Bodies of fits with the right names and anything behind them."""
    parameters = st.fixed_dictionaries(
        {}, optional={"n_components": VALUES, "gamma": VALUES, "n_starts": VALUES, "priors": VALUES, "what": VALUES}
    )
    members = {"dataset_id": VALUES, "method": st.sampled_from(["melm", "pca", "nca"]) | VALUES, "force": VALUES}
    members |= {"params": parameters | VALUES, "validation": VALUES, "name": VALUES, "metadata": VALUES}
    members["data"] = st.fixed_dictionaries({}, optional=MEMBERS) | VALUES
    return json.dumps(draw(st.fixed_dictionaries({}, optional=members))).encode()


FORM = (
    b'--line\r\nContent-Disposition: form-data; name="target"\r\n\r\ny\r\n--line\r\nContent-Disposition: form-data; '
    b'name="file"; filename="x.csv"\r\nContent-Type: text/csv\r\n\r\na,y\n1,u\n2,v\n\r\n--line--\r\n'
)


def read_form(content: bytes) -> object:
    """A form, and what its fields and its file are taken for."""
    form = UploadForm("multipart/form-data; boundary=line")
    form.take(content)
    form.finish()
    return form.options(QueryParams("")).read_options(), form.codec


HEADERS = [
    "wait=5",
    'respond-async, wait="10"',
    "text/csv;q=0.5, */*;q=0",
    "application/json; q=nan",
    '"mdl_1-0-card", *',
]
TEXTS: st.SearchStrategy[str] = st.text() | mutated([text.encode() for text in HEADERS]).map(
    lambda each: each.decode("latin1")
)
JSON_OF_FITS: Bodies = fit_bodies() | mutated(
    [b'{"dataset_id": "ds_1", "params": {"n_components": 2, "gamma": [0.5, 1]}, "validation": {"folds": 5}}']
    + bodies.HOSTILE["application/json"]
)
TARGETS: list[Target] = [
    *(make(media_type) for media_type in CODECS for make in (inspect, upload, ask)),
    Target("model file", use_model, model_files()),
    Target("fit", lambda content: submission.parse(content, LIMITS), JSON_OF_FITS),
    Target("alias", lambda content: body.parse(AliasPut, content), bodies_of("application/json")),
    Target("roles", parse_roles, TEXTS | JSON_OF_FITS.map(lambda each: each.decode("latin1"))),
    Target("form", read_form, mutated([FORM]) | st.binary(), (FORM, FORM[:-4], b"--line--")),
    Target("query", lambda text: parse_query(QueryParams(text)), TEXTS),
    Target("accept", codec_for_answer, TEXTS),
    Target("content type", codec_for_body, TEXTS),
    Target("prefer", lambda text: asyncio.run(get_wait_seconds(text)), TEXTS),
    Target("etag", lambda text: matches(text, '"mdl_1"'), TEXTS),
    Target(
        "keys",
        parse_keys,
        TEXTS | st.just("acme fit " + "0" * 64 + " name 2026-11-18T00:00:00Z"),
        declared=SettingsError,
    ),
]
