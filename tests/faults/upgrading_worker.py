"""A worker that knows how to read version 0, in which the starts of a fit were called otherwise."""

from __future__ import annotations

import json
import os

from tests.worker.stand_in import StandIn
from worker.app import run_worker
from worker.engine.upgrade import STEPS, Fields
from worker.store.settings import Settings


def from_version_0(fields: Fields) -> Fields:
    params = json.loads(fields["params"])
    params["n_starts"] = params.pop("starts")
    return {**fields, "params": json.dumps(params)}


if __name__ == "__main__":
    STEPS[0] = from_version_0
    run_worker(Settings.from_environment(os.environ), StandIn())
