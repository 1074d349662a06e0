"""The command, run in this process, and what it wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import pytest

from melm.command import main
from melm.command.failure import ExitCode


class Said(NamedTuple):
    """What a command wrote."""

    out: str
    err: str


Melm: TypeAlias = Callable[..., Said]


@pytest.fixture
def melm(capsys: pytest.CaptureFixture[str]) -> Melm:
    """The command."""

    def run(*arguments: str, code: int = ExitCode.DONE) -> Said:
        capsys.readouterr()
        found = main(arguments)
        said = Said(*capsys.readouterr())
        assert found == code, said.err
        return said

    return run
