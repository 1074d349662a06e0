"""Requests from many connections at once, in a process of its own: `python -m bench.traffic URL MODEL DATASET ...`.

Written on the bare protocol, because a client library would be slower than the service that it is to load.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit

import numpy as np
import uvloop

SHARES = {"predict": 0.90, "transform": 0.06, "poll": 0.03, "fit": 0.01}
MAX_OPEN_FITS = 16  # a real user waits for fits; more would only wait in the queue
N_FEATURES = 10
N_TRANSFORMED = 100
ENDED = {"succeeded", "failed", "canceled"}


class Traffic:
    """What is asked next, and what has come of it."""

    def __init__(
        self, url: str, model_id: str, dataset_id: str, n_features: int = N_FEATURES, only: str | None = None
    ) -> None:
        self.host = urlsplit(url).netloc
        self._dataset_id = dataset_id
        self._shares = SHARES if only is None else {only: 1.0}
        self._random = random.Random(0)  # noqa: S311 - a mix, no secret
        rows = io.BytesIO()
        np.save(rows, np.random.default_rng(0).standard_normal((N_TRANSFORMED, n_features)))
        row = json.dumps({"X": [[0.5] * n_features]}).encode()
        self._predict = self.request("POST", f"/v1/models/{model_id}/predict", row)
        self._transform = self.request("POST", f"/v1/models/{model_id}/transform", rows.getvalue(), "application/x-npy")
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.errors: Counter[str] = Counter()
        self.open_fits: dict[str, None] = {}
        self.n_fits = 0

    def request(self, method: str, path: str, body: bytes = b"", media_type: str = "application/json") -> bytes:
        """A request as it goes over the wire."""
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\n"
        if body:
            head += f"Content-Type: {media_type}\r\nContent-Length: {len(body)}\r\n"
        return f"{head}\r\n".encode() + body

    def next(self) -> tuple[str, bytes]:
        """A kind of request, and its bytes."""
        [kind] = self._random.choices(list(self._shares), list(self._shares.values()))
        if kind == "fit" and len(self.open_fits) >= MAX_OPEN_FITS:
            kind = "poll"
        if kind == "poll" and not self.open_fits:
            kind = "predict"
        match kind:
            case "predict":
                return kind, self._predict
            case "transform":
                return kind, self._transform
            case "poll":
                return kind, self.poll(next(iter(self.open_fits)))
        params = {"n_components": 2, "regularization": None, "n_starts": 2, "seed": self._random.randrange(2**31)}
        ask = {"dataset_id": self._dataset_id, "params": params, "validation": None}
        return kind, self.request("POST", "/v1/fits", json.dumps(ask).encode())

    def poll(self, fit_id: str) -> bytes:
        """A look at a fit. The one that was looked at goes to the end of the line."""
        if fit_id in self.open_fits:
            self.open_fits[fit_id] = self.open_fits.pop(fit_id)
        return self.request("GET", f"/v1/fits/{fit_id}")

    def note(self, kind: str, seconds: float, status: int, body: bytes) -> None:
        """An answer."""
        self.seconds[kind].append(seconds)
        if not 200 <= status < 300:
            self.errors[f"{kind}: status {status}: {body.decode()[:200]}"] += 1
        elif kind == "fit":
            self.n_fits += 1
            self.open_fits[json.loads(body)["id"]] = None
        elif kind == "poll" and (fit := json.loads(body))["status"] in ENDED:
            self.open_fits.pop(fit["id"], None)
            if fit["status"] != "succeeded":
                self.errors[f"a fit has {fit['status']}"] += 1


class Connection(asyncio.Protocol):
    """Asks, waits for the answer, and asks again, until the time is up."""

    def __init__(self, traffic: Traffic, ends_at: float) -> None:
        self._traffic = traffic
        self._ends_at = ends_at
        self._buffer = b""
        self.is_done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.Transport, transport)
        self._ask()

    def data_received(self, data: bytes) -> None:
        """Take an answer, or a part of it."""
        self._buffer += data
        head, separator, rest = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(rest) < length:
            return
        self._buffer = b""
        now = time.perf_counter()
        self._traffic.note(self._kind, now - self._asked_at, int(head[9:12]), rest)
        if now < self._ends_at:
            self._ask()
        else:
            self._finish()

    def connection_lost(self, error: Exception | None) -> None:
        """Nobody but us should close a connection."""
        if not self.is_done.done():
            self._traffic.errors["connection closed"] += 1
            self._finish()

    def _ask(self) -> None:
        self._kind, content = self._traffic.next()
        self._asked_at = time.perf_counter()
        self._transport.write(content)

    def _finish(self) -> None:
        self.is_done.set_result(None)
        self._transport.close()


async def run(traffic: Traffic, n_connections: int, seconds: float) -> float:
    """Ask for a while; how long it took."""
    loop = asyncio.get_running_loop()
    host, _, port = traffic.host.partition(":")
    began_at = time.perf_counter()
    connections = [Connection(traffic, began_at + seconds) for _ in range(n_connections)]
    await asyncio.gather(*(loop.create_connection(lambda each=each: each, host, int(port)) for each in connections))  # type: ignore[misc]
    await asyncio.gather(*(each.is_done for each in connections))
    return time.perf_counter() - began_at


def summary(traffic: Traffic, seconds: float) -> Mapping[str, object]:
    """What is to be told, in milliseconds."""
    kinds = {}
    everything = np.concatenate([np.array(each) for each in traffic.seconds.values()])
    for kind, taken in {"all": everything, **{kind: np.array(each) for kind, each in traffic.seconds.items()}}.items():
        p50, p99 = 1e3 * np.quantile(taken, [0.5, 0.99])
        kinds[kind] = {"requests": len(taken), "p50": p50, "p99": p99}
    return {
        "requests_per_second": len(everything) / seconds,
        "kinds": kinds,
        "n_fits": traffic.n_fits,
        "open_fits": list(traffic.open_fits),
        "errors": dict(traffic.errors),
    }


def main() -> None:
    """Ask, and print what came of it as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.traffic")
    parser.add_argument("url")
    parser.add_argument("model_id")
    parser.add_argument("dataset_id")
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--features", type=int, default=N_FEATURES, help="of the model (%(default)s)")
    parser.add_argument("--only", choices=SHARES, help="one kind of request instead of the mix")
    options = parser.parse_args()
    traffic = Traffic(options.url, options.model_id, options.dataset_id, options.features, options.only)
    seconds = uvloop.run(run(traffic, options.connections, options.seconds))
    json.dump(summary(traffic, seconds), sys.stdout)


if __name__ == "__main__":
    main()
