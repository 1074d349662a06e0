"""Repeats, and a table of what every scenario cost: FAULT_REPEATS=3 asks for both.

A scenario is a test that is marked with its number and what happens in it: `scenario(7, "server killed")`.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from statistics import median

import pytest

from tests.faults.deployment import TALLIES, Tally

REPEATS = int(os.environ.get("FAULT_REPEATS", "1"))
HEADER = ("", "scenario", "repeats", "fits", "lost", "duplicated", "recovery: median", "worst")
seen: defaultdict[tuple[int, str], list[list[Tally]]] = defaultdict(list)  # by scenario, one item a repeat


@pytest.fixture(autouse=True)
def repeat(request: pytest.FixtureRequest) -> int:
    """Which time the test is run."""
    return int(getattr(request, "param", 0))


@pytest.fixture(autouse=True)
def tallied(request: pytest.FixtureRequest) -> Iterator[None]:
    """Enter what the test saw under its scenario."""
    TALLIES.clear()
    yield
    params = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    for mark in request.node.iter_markers("scenario"):
        number, words = mark.args
        seen[number, words.format(**params)].append(list(TALLIES))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    repeats_itself = any(mark.name == "once" for mark in metafunc.definition.iter_markers())
    if REPEATS > 1 and not repeats_itself:
        metafunc.parametrize("repeat", range(REPEATS), indirect=True, ids=lambda number: f"repeat{number}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table, as it stands in docs/operations.md."""
    if "FAULT_REPEATS" not in os.environ:
        return
    terminalreporter.section("faults")
    rows = [HEADER, ("---",) * len(HEADER), *(row(*scenario, repeats) for scenario, repeats in sorted(seen.items()))]
    for each in rows:
        terminalreporter.write_line(f"| {' | '.join(each)} |")


def row(number: int, words: str, repeats: list[list[Tally]]) -> tuple[str, ...]:
    """One scenario over all its repeats."""
    tallies = [tally for repeat in repeats for tally in repeat]
    recoveries = [seconds for tally in tallies for seconds in tally.recovery_seconds]
    return (
        str(number or ""),
        words,
        str(len(repeats)),
        str(sum(tally.n_fits for tally in tallies)),
        str(sum(tally.n_lost for tally in tallies)),
        str(sum(tally.n_duplicated for tally in tallies)),
        f"{median(recoveries):.1f} s" if recoveries else "",
        f"{max(recoveries):.1f} s" if recoveries else "",
    )
