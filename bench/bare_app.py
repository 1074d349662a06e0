"""What the service is measured against: FastAPI routes that do next to nothing, or the obvious thing."""

from __future__ import annotations

import os
import uuid

import numpy as np
import redis
from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel

from worker.store.datasets import BLOCK_BYTES

app = FastAPI()
V = np.linalg.qr(np.random.default_rng(0).standard_normal((50, 2)))[0]


class Rows(BaseModel):
    """Rows as most services declare them."""

    X: list[list[float]]


@app.post("/constant")
def answer_constant() -> dict[str, str]:
    """A constant, by a plain function."""
    return {"answer": "constant"}


@app.post("/constant/at-once")
async def answer_constant_at_once() -> dict[str, str]:
    """A constant, by a coroutine: the least that FastAPI can do."""
    return {"answer": "constant"}


@app.post("/read")
async def read_and_answer(request: Request) -> Response:
    """Read the body, whatever it is, and answer two numbers for each of 10,000 rows."""
    await request.body()
    return Response(bytes(10_000 * 2 * 8), media_type="application/x-npy")


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


@app.post("/transform")
def transform(rows: Rows) -> dict[str, list[list[float]]]:
    """A projection of rows that pydantic has validated."""
    return {"Z": (np.array(rows.X) @ V).tolist()}
