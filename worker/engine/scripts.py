"""The scripts of a fit: each is one step of its life, and all of them share `scripts/fit.lua`."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from worker.engine.states import MOVES
from worker.store.connection import join_script


@cache
def script(name: str) -> str:
    """The text of a script of a fit, with what it shares with the others put before it."""
    folder = resources.files("worker.engine") / "scripts"
    if name in ("adopt", "sweep"):  # they are not of one fit
        return join_script((folder / f"{name}.lua").read_text())
    moves = {before: dict.fromkeys(sorted(afters), True) for before, afters in MOVES.items()}
    table = f"local MOVES = cjson.decode([[{json.dumps(moves)}]])"
    return join_script(table, *((folder / f"{part}.lua").read_text() for part in ("fit", name)))
