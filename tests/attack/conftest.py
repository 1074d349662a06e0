"""One service under attack, a bystander who goes on asking, and a table of what each attack was bound by.

An attack is a test that calls `record` with its name, what bounds it, and what was measured. `make attack` runs all of
them at their full size and prints the table; in every other test run they are smaller.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from tests.attack.bystander import Bystander
from tests.attack.service import ADA, Attacked, attacked_service

FULL = os.environ.get("ATTACK_SIZE") == "full"
HEADER = ("attack", "bound", "measured")
rows: list[tuple[str, str, str]] = []

Record: TypeAlias = Callable[[str, str, str], None]


@pytest.fixture(scope="session")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """A service with two tenants: ada, and mallory, who attacks."""
    with attacked_service(tmp_path_factory.mktemp("attack")) as service:
        yield service


@pytest.fixture
def bystander(attacked: Attacked) -> Bystander:
    """Ada, who predicts."""
    return Bystander(attacked.api.url, ADA, attacked.model_id, demanding=FULL)


@pytest.fixture
def record() -> Record:
    """Enters a row of the table."""
    return lambda attack, bound, measured: rows.append((attack, bound, measured))


@pytest.fixture(scope="session")
def size() -> Callable[[int, int], int]:
    """The size of an attack: in every test run, and by `make attack`."""
    return lambda short, full: full if FULL else short


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table, as it stands in docs/operations.md."""
    if FULL:
        terminalreporter.section("attacks")
        for row in (HEADER, ("---",) * len(HEADER), *rows):
            terminalreporter.write_line(f"| {' | '.join(row)} |")
