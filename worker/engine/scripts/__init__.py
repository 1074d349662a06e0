"""The Lua scripts of the engine. Each is one atomic step; all of them share `fit.lua`."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from worker.engine.states import MOVES
from worker.store.connection import milliseconds
from worker.store.scripts import join_script
from worker.store.settings import Settings


@cache
def script(name: str) -> str:
    """The text of a script, preceded by the shared code."""
    folder = resources.files(__name__)
    moves = {before: dict.fromkeys(sorted(afters), True) for before, afters in MOVES.items()}
    table = f"local MOVES = cjson.decode([[{json.dumps(moves)}]])"
    return join_script(table, *((folder / f"{part}.lua").read_text() for part in ("fit", name)))


def limits(settings: Settings) -> dict[str, int]:
    """The settings that the shared code uses."""
    return {
        "window": settings.window,
        "check_ms": milliseconds(settings.stalled_seconds),
        "alive_ms": milliseconds(settings.alive_seconds),
    }
