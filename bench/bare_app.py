"""What the service is measured against: FastAPI routes that do next to nothing, or the obvious thing."""

from __future__ import annotations

import numpy as np
from fastapi import FastAPI, Request, Response
from pydantic import BaseModel

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


@app.post("/transform")
def transform(rows: Rows) -> dict[str, list[list[float]]]:
    """A projection of rows that pydantic has validated."""
    return {"Z": (np.array(rows.X) @ V).tolist()}
