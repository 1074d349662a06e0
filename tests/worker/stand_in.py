"""A method that stands in for the real ones: its units sleep, crash or hold the interpreter as its parameters say.

A fit has two stages, `search` with one unit per start and `polish` with the best few; with validation a third, `folds`.
What it gives depends on data and seed alone. `python -m tests.worker.stand_in` runs a worker for it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from melm.plan import NothingFitted, Plan, Result, Stage, Stopped, Unit
from melm.typing import AnyArray
from worker.app import run_worker
from worker.engine.codec import decode, encode
from worker.engine.units import Preview
from worker.store.records import DatasetRecord, FitRecord
from worker.store.settings import Settings
from worker.store.table_part import TablePart


@dataclass(frozen=True)
class StandInModel:
    """The best start's projection."""

    projection: AnyArray
    card: dict[str, Any]


class StandIn:
    """The method. Its parameters:

    - `n_starts`, `seed`, the `seconds` that a unit takes, and `breaks` for a plan that raises;
    - names of units that misbehave: `crashes` kill their process, `errors` raise, `stuck` ones do not stop when told,
      `holds_interpreter` ones let no other thread run;
    - `resumable`: whether the units of the search go on where they were stopped;
    - `together`: whether the units of the search are alike, so that several make one lease;
    - `trace`: a folder in which every execution of a unit leaves a file.
    """

    def prepare(self, record: DatasetRecord, X: AnyArray, y: AnyArray, part: TablePart | None) -> AnyArray:
        """The rows are all it needs."""
        return X

    def plan(self, fit: FitRecord, data: AnyArray) -> Plan[StandInModel]:
        """Search, polish, done."""
        if fit.params.get("breaks"):
            raise ArithmeticError("The plan breaks.")
        n_starts = int(fit.params["n_starts"])
        alike = ("search",) if fit.params.get("together") else None
        resumable = bool(fit.params.get("resumable"))
        search = [
            Unit(f"search {index}", {"start": index}, start=index, alike=alike, resumable=resumable)
            for index in range(n_starts)
        ]
        found = yield Stage("search", search, 0, 0.3)
        starts = [result for result in found if result is not None]
        if not starts:
            raise NothingFitted("No start gave a result.")
        starts.sort(key=lambda result: -result["divergence"])
        polished = yield Stage(
            "polish",
            [
                Unit(f"polish {start['start']}", {"start": start["start"], "V": start["V"]}, start=start["start"])
                for start in starts[:2]
            ],
            0.3,
            0.5 if fit.validation else 1,
        )
        candidates = [*starts, *(result for result in polished if result is not None)]
        best = max(candidates, key=lambda each: each["divergence"])
        return StandInModel(best["V"], {"divergence": best["divergence"], "n_starts": len(starts)})

    def plan_evidence(self, fit: FitRecord, data: AnyArray, file: bytes) -> Plan[StandInModel]:
        """One unit a fold; the card counts those that gave something."""
        stored = decode(file)
        units = [Unit(f"fold {i}", {"start": i}) for i in range((fit.validation or {})["folds"])]
        folds = yield Stage("folds", units, 0.5, 1)
        n_folds = sum(result is not None for result in folds)
        return StandInModel(stored["projection"], {**stored["card"], "folds": n_folds})

    def preview(self, fit: FitRecord, data: AnyArray, unit: Unit, result: Result) -> Preview | None:
        """The divergence is all that is shown."""
        return Preview(len(data), result["divergence"], json.dumps(result["divergence"]).encode())

    def run(
        self, fit: FitRecord, data: AnyArray, units: Sequence[Unit], should_stop: Callable[[], bool]
    ) -> list[Result]:
        """What each unit gives."""
        return [self.run_unit(fit, data, unit, should_stop) for unit in units]

    def run_unit(self, fit: FitRecord, data: AnyArray, unit: Unit, should_stop: Callable[[], bool]) -> Result:
        """A projection that depends on the data and the unit, after as long as the parameters ask for."""
        params = fit.params
        if trace := params.get("trace"):
            (Path(trace) / f"{fit.id} {unit.name} {os.getpid()} {time.monotonic_ns()}").touch()
        if unit.name in params.get("crashes", ()):
            os.kill(os.getpid(), signal.SIGKILL)
        if unit.name in params.get("errors", ()):
            raise ArithmeticError(f"{unit.name} does not converge")
        if unit.name in params.get("holds_interpreter", ()):
            ctypes.PyDLL(None).usleep(round(params["seconds"] * 1e6))
        else:
            began = time.monotonic() - unit.arguments.get("seconds", 0)
            while (seconds := time.monotonic() - began) < float(params.get("seconds", 0)):
                if should_stop() and unit.name not in params.get("stuck", ()):
                    raise Stopped({"seconds": seconds} if unit.resumable else None)
                time.sleep(0.002)
        start = unit.arguments["start"]
        random = np.random.default_rng([int(fit.params["seed"]), start])
        V = unit.arguments["V"] * 0.5 if "V" in unit.arguments else random.standard_normal((data.shape[1], 2))
        return {"start": start, "V": V, "divergence": float(np.abs(data @ V).mean()) + ("V" in unit.arguments) * 10}

    def dump(self, model: StandInModel) -> tuple[bytes, dict[str, Any]]:
        """The projection and the card."""
        return encode({"projection": model.projection, "card": model.card}), model.card


if __name__ == "__main__":
    run_worker(Settings.from_environment(os.environ), StandIn())
