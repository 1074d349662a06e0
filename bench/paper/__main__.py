"""Run the paper's comparison and write docs/paper.md, or with --public that on other data and docs/public-data.md."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

# One thread for each process, so that sums are rounded alike everywhere: set before numpy is loaded.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

from bench.paper.data_sets import NoData, download, find_folder  # noqa: E402 - the threads come first
from bench.paper.output import Output, PaperOutput, PublicOutput  # noqa: E402
from bench.paper.public_data import extract  # noqa: E402
from bench.paper.run import Failed, run_tasks  # noqa: E402
from bench.paper.scope import FULL, PUBLIC_SCOPE, QUICK, TABLES, Scope  # noqa: E402

ROOT = Path(__file__).parents[2]
KEPT, PAGES = ROOT / "bench" / "paper", ROOT / "docs"
BUILD = ROOT / "build" / "paper"

T = TypeVar("T")


def main() -> int:
    """Run what was asked for, and write the page. The quick part is written beside its intermediate results."""
    arguments = _arguments()
    try:
        scope = _scope(arguments)
        fetch = extract if arguments.public else download
        data = find_folder(arguments.data, scope.data_sets, arguments.build / "data", fetch)
        outcomes = run_tasks(scope.tasks(), data, arguments.build / "results", arguments.processes)
    except (NoData, Failed) as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on from here.", file=sys.stderr)
        return 130
    output = _output(arguments)
    output.write(outcomes, data)
    print(f"Written: {output.page}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.paper", description=__doc__)
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--quick", action="store_true", help="a part of it, within minutes")
    scope.add_argument("--public", action="store_true", help="on public data sets that the paper does not have")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="CSV files of the data sets")
    parser.add_argument("--data-sets", nargs="+", metavar="NAME", help="some of the data sets")
    parser.add_argument("--entrants", nargs="+", metavar="NAME", help="some of the methods, as the page names them")
    parser.add_argument("--tables", nargs="+", choices=TABLES, metavar="NAME", help=f"of {', '.join(TABLES)}")
    parser.add_argument("--repeats", type=_whole, help="how often new rows and table 2 are repeated with other folds")
    parser.add_argument(
        "--build", type=Path, default=BUILD, metavar="FOLDER", help="for what is not kept in the repository"
    )
    parser.add_argument("--processes", type=_whole, default=os.cpu_count(), help="all cores by default")
    return parser.parse_args()


def _scope(arguments: argparse.Namespace) -> Scope:
    """What is run: all of it, or what the arguments name."""
    scope = PUBLIC_SCOPE if arguments.public else QUICK if arguments.quick else FULL
    changes: dict[str, Any] = {}
    if arguments.data_sets:
        changes["data_sets"] = _some(arguments.data_sets, {name: name for name in scope.data_sets})
    if arguments.entrants:
        changes["entrants"] = _some(arguments.entrants, {entrant.name: entrant for entrant in scope.entrants})
    if arguments.tables:
        changes["tables"] = tuple(arguments.tables)
    if changes and not arguments.quick:
        changes["figures"] = False
    if arguments.repeats:
        changes |= {"pipeline_repeats": arguments.repeats, "held_out_repeats": arguments.repeats}
    return replace(scope, **changes)


def _some(names: Sequence[str], offered: Mapping[str, T]) -> tuple[T, ...]:
    """Those that are named, in the order in which they are offered."""
    for name in names:
        if name not in offered:
            raise NoData(f"invalid choice: {name!r} (choose from {', '.join(map(repr, offered))})")
    return tuple(value for name, value in offered.items() if name in names)


def _output(arguments: argparse.Namespace) -> Output:
    part = arguments.build / "part"
    tables, pages = (part, part) if arguments.quick else (KEPT, PAGES)
    return PublicOutput(tables, pages) if arguments.public else PaperOutput(tables, pages)


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
