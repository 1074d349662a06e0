"""The scripts of the engine: each is one step, and all of them share `scripts/fit.lua`."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from worker.engine.states import MOVES
from worker.store.connection import join_script, milliseconds
from worker.store.settings import Settings


@cache
def script(name: str) -> str:
    """The text of a script, with what it shares with the others put before it."""
    folder = resources.files("worker.engine") / "scripts"
    moves = {before: dict.fromkeys(sorted(afters), True) for before, afters in MOVES.items()}
    table = f"local MOVES = cjson.decode([[{json.dumps(moves)}]])"
    return join_script(table, *((folder / f"{part}.lua").read_text() for part in ("fit", name)))


def limits(settings: Settings) -> dict[str, int]:
    """What the shared part needs to know of the settings."""
    return {
        "window": settings.window,
        "look_ms": milliseconds(settings.stalled_seconds),
        "alive_ms": milliseconds(settings.alive_seconds),
    }
