"""The optional extras of the package: their modules, and the error that names a missing one."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = {  # modules by which an extra is known to be installed
    "tables": ("msgspec", "pyarrow", "python_calamine"),
    "client": ("httpx2", "tqdm"),
    "plot": ("matplotlib",),
    "dask": ("dask", "distributed"),
    "onnx": ("onnx",),
    "service": ("celery", "fastapi", "redis", "resvg_py", "shtab", "uvicorn"),
}


class MissingExtra(ImportError):
    """Something needs an extra that is not installed; the message says how to install it."""


def check_extra(extra: str, what: str) -> None:
    """Raise MissingExtra unless the extra that `what` needs is installed."""
    missing = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        names = " and ".join([", ".join(missing[:-1]), missing[-1]] if len(missing) > 1 else missing)
        raise MissingExtra(f"{what} needs {names}: pip install 'melm[{extra}]'", name=missing[0])
