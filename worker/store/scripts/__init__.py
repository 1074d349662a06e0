"""The Lua scripts of the store. Each is one atomic step; those of the engine share `tenant.lua` with them."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def script(name: str) -> str:
    """The text of a script of the store by its path, `dataset/create`."""
    return join_script(resources.files(__name__).joinpath(f"{name}.lua").read_text())


def join_script(*texts: str) -> str:
    """A script from the last text, preceded by the code that all scripts share and by the other texts."""
    tenant = resources.files(__name__).joinpath("tenant.lua").read_text()
    *shared, body = texts
    flags, body = body.split("\n", 1) if body.startswith("#!") else ("#!lua", body)
    return "\n".join([flags, tenant, *shared, body])
