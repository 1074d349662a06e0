"""Repeats, and a table of what every scenario cost: FAULT_REPEATS=3 asks for both."""

from __future__ import annotations

import os

import pytest

from tests.faults.deployment import TALLIES, Tally

REPEATS = int(os.environ.get("FAULT_REPEATS", "1"))
ONCE = {
    "test_random_faults_lose_nothing",
    "test_every_acknowledged_fit_survives_a_hundred_kills",
}  # repeat by themselves


@pytest.fixture(autouse=True)
def repeat(request: pytest.FixtureRequest) -> int:
    """Which time the test is run."""
    return int(getattr(request, "param", 0))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if REPEATS > 1 and metafunc.function.__name__ not in ONCE:
        metafunc.parametrize("repeat", range(REPEATS), indirect=True, ids=lambda number: f"repeat{number}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if REPEATS == 1:
        return
    terminalreporter.section("faults")
    header = ("scenario", "runs", "fits", "lost", "duplicated", "units run again", "longest standstill")
    rows = [header, *(row(name, tallies) for name, tallies in TALLIES.items())]
    widths = [max(len(each[column]) for each in rows) for column in range(len(header))]
    for each in rows:
        terminalreporter.write_line("  ".join(cell.ljust(width) for cell, width in zip(each, widths, strict=True)))


def row(name: str, tallies: list[Tally]) -> tuple[str, ...]:
    standstills = [tally.standstill_seconds for tally in tallies if tally.standstill_seconds is not None]
    return (
        name.removeprefix("test_").replace("_", " "),
        str(len(tallies)),
        str(sum(tally.n_fits for tally in tallies)),
        str(sum(tally.n_active for tally in tallies)),
        str(sum(tally.n_duplicated for tally in tallies)),
        str(sum(tally.n_units_run_again for tally in tallies)),
        f"{max(standstills):.1f} s" if standstills else "",
    )
