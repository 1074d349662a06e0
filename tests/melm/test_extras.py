"""A missing extra is one sentence that names it."""

import importlib.util
import tomllib
from collections.abc import Callable
from typing import Any

import pytest

from melm.command import main
from melm.command.failure import ExitCode
from melm.extras import EXTRAS, MissingExtra, check_extra
from tests.servers import ROOT

Remove = Callable[..., None]


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Remove:
    """Makes modules look as if they were not installed."""
    find_spec = importlib.util.find_spec

    def remove(*names: str) -> None:
        def find(name: str, *arguments: Any) -> Any:
            return None if name in names else find_spec(name, *arguments)

        monkeypatch.setattr("melm.extras.find_spec", find)

    return remove


def test_all_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS) == set(declared) - {"all", "dev"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_that_is_there_is_not_missed(extra: str) -> None:
    if extra not in ("plot", "dask"):  # which tests do not need
        check_extra(extra, "this")


def test_what_is_missing_is_named_with_the_way_to_get_it(without: Remove) -> None:
    without("httpx2", "tqdm")
    with pytest.raises(MissingExtra, match=r"^this needs httpx2 and tqdm: pip install 'melm\[client\]'$"):
        check_extra("client", "this")


def test_a_command_says_it_in_one_line(without: Remove, capsys: pytest.CaptureFixture[str]) -> None:
    without("celery")
    assert main(["up"]) == ExitCode.WRONG_INPUT
    assert capsys.readouterr().err == "melm: melm up needs celery: pip install 'melm[service]'\n"
