"""`python -m tests.luacheck`: luacheck on the scripts in Lua, each with the names of those that are put before it."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.servers import ROOT

SHARED = [ROOT / "worker" / "store" / "scripts" / "tenant.lua", ROOT / "worker" / "engine" / "scripts" / "fit.lua"]
LOCALS = re.compile(r"^local (?:function )?([\w, ]+)", re.MULTILINE)
SERVER = ["redis", "cjson", "KEYS", "ARGV"]
UNUSED = ["211", "231"]  # what a shared script defines and sets is used by the others


def main() -> int:
    """Check all scripts; answers 1 where something is wrong."""
    found = [match for path in SHARED for match in LOCALS.findall(path.read_text())]
    names = ["MOVES", *(name.strip() for match in found for name in match.split(","))]
    others = [path for path in sorted((ROOT / "worker").rglob("*.lua")) if path not in SHARED]
    luacheck = ["luacheck", "--quiet", "--no-color", "--std", "lua51", "--max-line-length", "130"]
    luacheck += ["--read-globals", *SERVER, "--globals", *names]
    ended = [
        subprocess.run([*luacheck, "--ignore", *UNUSED, "--", *SHARED]),
        subprocess.run([*luacheck, "--", *others]),
    ]
    return max(each.returncode for each in ended)


if __name__ == "__main__":
    sys.exit(main())
