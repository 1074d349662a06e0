"""The same routes by litestar, as its documentation writes them."""

from __future__ import annotations

import io
import os
from pathlib import Path

import msgspec
import numpy as np
from litestar import Litestar, Request, Response, post  # type: ignore[import-not-found]  # see bench.serving

from melm.model import file as model_file

model = model_file.load(Path(os.environ["BENCH_MODEL"]).read_bytes())


class Rows(msgspec.Struct):
    """Rows as litestar decodes them."""

    X: list[list[float]]


def predict(data: Rows) -> dict[str, list[bool]]:
    """Labels of decoded rows."""
    return {"predictions": model.predict(np.array(data.X)).tolist()}


def transform(data: Rows) -> dict[str, list[list[float]]]:
    """A projection of decoded rows."""
    return {"Z": model.transform(np.array(data.X)).tolist()}


async def transform_npy(request: Request) -> Response:
    """A projection of an npy file, as NumPy reads and writes it."""
    stream = io.BytesIO()
    np.save(stream, model.transform(np.load(io.BytesIO(await request.body()), allow_pickle=False)))
    return Response(stream.getvalue(), media_type="application/x-npy")


app = Litestar(
    [
        post("/predict/json", status_code=200, sync_to_thread=False)(predict),
        post("/transform/json", status_code=200, sync_to_thread=False)(transform),
        post("/transform/npy", status_code=200)(transform_npy),
    ],
    request_max_body_size=None,
)
