"""What the service is measured against: FastAPI routes that do next to nothing, or the obvious thing."""

from __future__ import annotations

import io
import os
import uuid
from pathlib import Path

import numpy as np
import redis
from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel

from melm.model import Model
from melm.model import file as model_file
from worker.store.datasets import BLOCK_BYTES

app = FastAPI()


def add_constant(n_bytes: int) -> None:
    """A coroutine that reads the whole body and answers fixed bytes: what no service can be faster than."""
    content = bytes(n_bytes)

    async def answer_constant(request: Request) -> Response:
        await request.body()
        return Response(content)

    app.add_api_route(f"/constant/{n_bytes}", answer_constant, methods=["POST"])


def read_model() -> Model | None:
    """The model of the service that is measured, where there is one."""
    path = os.environ.get("BENCH_MODEL")
    return None if path is None else model_file.load(Path(path).read_bytes())


for size in filter(None, os.environ.get("BENCH_ANSWER_BYTES", "").split(",")):
    add_constant(int(size))
model: Model = read_model()  # type: ignore[assignment]  # the routes that need one are asked where there is one


class Rows(BaseModel):
    """Rows as most services declare them."""

    X: list[list[float]]


@app.post("/predict/json")
def predict(rows: Rows) -> dict[str, list[bool]]:
    """Labels of rows that pydantic has validated."""
    return {"predictions": model.predict(np.array(rows.X)).tolist()}


@app.post("/transform/json")
def transform(rows: Rows) -> dict[str, list[list[float]]]:
    """A projection of rows that pydantic has validated."""
    return {"Z": model.transform(np.array(rows.X)).tolist()}


@app.post("/transform/npy")
async def transform_npy(request: Request) -> Response:
    """A projection of an npy file, as NumPy reads and writes it."""
    stream = io.BytesIO()
    np.save(stream, model.transform(np.load(io.BytesIO(await request.body()), allow_pickle=False)))
    return Response(stream.getvalue(), media_type="application/x-npy")


@app.post("/copy")
async def copy_to_store(request: Request) -> dict[str, int]:
    """Copy the body into the store as it comes, in pieces as large as the service's own."""
    store = redis.Redis.from_url(os.environ["MELM_REDIS_URL"])
    name, pending, n_pieces = f"copy:{uuid.uuid4()}", bytearray(), 0
    async for chunk in request.stream():
        pending += chunk
        if len(pending) >= BLOCK_BYTES:
            await run_in_threadpool(store.hset, name, str(n_pieces), bytes(pending))
            pending, n_pieces = bytearray(), n_pieces + 1
    await run_in_threadpool(store.hset, name, str(n_pieces), bytes(pending))
    await run_in_threadpool(store.unlink, name)
    return {"n_pieces": n_pieces + 1}
