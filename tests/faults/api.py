"""`python -m tests.faults.api`: the service with the stand-in among its methods, and mishaps where asked for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

from pydantic import BaseModel, ConfigDict

from melm.methods import METHODS
from tests.faults.mishap import arm


class Parameters(BaseModel):
    """What the stand-in always needs; how its units misbehave comes on top."""

    model_config = ConfigDict(extra="allow")

    n_starts: int = 4
    seed: int = 0
    seconds: float = 0.0


class Method:
    """All that the service needs to know of a method to take its fits."""

    name = "stand_in"
    title = "a stand-in"
    Parameters = Parameters

    def n_units(self, parameters: BaseModel) -> int:
        """So few that the service takes any of its fits."""
        return 1

    def estimated_seconds(self, parameters: BaseModel, counts: Sequence[int], n_features: int) -> float:
        """So few as well."""
        return 1.0

    def n_starts(self, parameters: BaseModel) -> int:
        """What progress counts."""
        return int(parameters.model_dump()["n_starts"])


METHODS[Method.name] = cast(Any, Method())  # before the service derives its schemas

if __name__ == "__main__":
    from service.__main__ import main

    arm(os.environ)
    main()
