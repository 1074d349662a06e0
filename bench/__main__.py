"""Run measurements and write bench/README.md: `python -m bench [library tables ... tenants] [--quick]`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

# One core, one thread, for us and for every rival: set before numpy is loaded.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

from bench.measurement import Measurement  # noqa: E402 - the threads come first

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results.json"
PARTS = {
    name: title
    for name, title in {
        "library": "The library",
        "earlier": "Against version 0.1",
        "tables": "Tables",
        "large": "Large data",
        "wide": "Many features",
        "beyond": "Rows beyond memory",
        "uploads": "Large data through the service",
        "service": "The service",
        "serving": "Serving",
        "tenants": "Many tenants",
    }.items()
    if (FOLDER / f"{name}.py").exists()
}
INTRODUCTION = """# How fast

Every figure is a ratio or a share, taken in one run on one machine, so that it means something elsewhere. `make bench`
measures anew and writes this page; `make bench ARGS="library --quick"` tries a part of it with fewer repeats.
"""


def main() -> int:
    """Measure the chosen parts, keep the results of the others, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="what to measure; everything by default")
    parser.add_argument("--quick", action="store_true", help="fewer repeats and smaller sizes; nothing is written")
    arguments = parser.parse_args()
    failed = False
    for part in arguments.parts or PARTS:
        print(f"{PARTS[part]}:", flush=True)
        measured: list[Measurement] = []
        for measurement in import_module(f"bench.{part}").measurements(arguments.quick):
            print(f"  {describe(measurement)}", flush=True)
            measured.append(measurement)
        failed |= not all(measurement.holds for measurement in measured)
        if not arguments.quick:
            keep(part, measured)
    return int(failed)


def keep(part: str, measured: list[Measurement]) -> None:
    """Write the results of one part beside those of the others, and the page anew."""
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results[part] = {
        "at": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}",
        "measurements": [asdict(measurement) for measurement in measured],
    }
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    (FOLDER / "README.md").write_text(page(results))


def describe(measurement: Measurement) -> str:
    """One line for the terminal."""
    verdict = "" if measurement.holds else "   MISSED"
    return f"{measurement.name}: {measurement.value:.3g} ({target(measurement)}){verdict}"


def target(measurement: Measurement) -> str:
    """The target in words."""
    if measurement.at_most is not None:
        return f"at most {measurement.at_most:g}"
    return f"at least {measurement.at_least:g}" if measurement.at_least is not None else "for information"


def page(results: dict[str, Any]) -> str:
    """bench/README.md."""
    text = INTRODUCTION
    for part, title in PARTS.items():
        if part not in results:
            continue
        text += f"\n## {title}\n\n`make bench ARGS={part}`, {results[part]['at']}, {results[part]['machine']}.\n\n"
        text += "| what | measured | target | |\n| --- | --- | --- | --- |\n"
        for fields in results[part]["measurements"]:
            measurement = Measurement(**fields)
            mark = "met" if measurement.holds else "**missed**"
            note = f" ({measurement.note})" if measurement.note else ""
            text += f"| {measurement.name}{note} | {measurement.value:.3g} | {target(measurement)} | {mark} |\n"
    return text


if __name__ == "__main__":
    sys.exit(main())
