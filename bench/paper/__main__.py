"""Run the paper's comparison and write docs/paper.md: `python -m bench.paper [--quick]`."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

# One thread for each process, so that sums are rounded alike everywhere: set before numpy is loaded.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

from bench.paper.data_sets import NoData, find_folder  # noqa: E402 - the threads come first
from bench.paper.entrants import ENTRANTS  # noqa: E402
from bench.paper.output import Output  # noqa: E402
from bench.paper.published import SHAPES  # noqa: E402
from bench.paper.run import Failed, run_tasks  # noqa: E402
from bench.paper.scope import FULL, QUICK  # noqa: E402

ROOT = Path(__file__).parents[2]
TABLES, PAGES = ROOT / "bench" / "paper", ROOT / "docs"
BUILD = ROOT / "build" / "paper"


def main() -> int:
    """Run what was asked for. A part of the comparison is written beside its intermediate results, not to docs."""
    arguments = _arguments()
    scope = replace(QUICK if arguments.quick else FULL, **_asked_for(arguments))
    whole = not arguments.quick and scope.data_sets == FULL.data_sets and scope.entrants == FULL.entrants
    try:
        data = find_folder(arguments.data, scope.data_sets, arguments.build / "data")
        outcomes = run_tasks(scope.tasks(), data, arguments.build / "results", arguments.processes)
    except (NoData, Failed) as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on from here.", file=sys.stderr)
        return 130
    output = Output(TABLES, PAGES) if whole else Output(arguments.build / "part", arguments.build / "part")
    output.write(outcomes, data)
    print(f"Written: {output.page}")
    return 0


def _arguments() -> argparse.Namespace:
    names = [entrant.name for entrant in ENTRANTS]
    parser = argparse.ArgumentParser(prog="python -m bench.paper", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a part of it, within minutes")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="CSV files of the data sets")
    parser.add_argument("--data-sets", nargs="+", choices=SHAPES, metavar="NAME", help=f"of {', '.join(SHAPES)}")
    parser.add_argument(
        "--entrants", nargs="+", choices=names, metavar="NAME", help=f"of {', '.join(map(repr, names))}"
    )
    parser.add_argument("--repeats", type=_whole, help="how often table 2 is repeated with other folds")
    parser.add_argument(
        "--build", type=Path, default=BUILD, metavar="FOLDER", help="for what is not kept in the repository"
    )
    parser.add_argument("--processes", type=_whole, default=os.cpu_count(), help="all cores by default")
    return parser.parse_args()


def _asked_for(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the arguments change of a scope."""
    changes: dict[str, Any] = {}
    if arguments.data_sets:
        changes["data_sets"] = tuple(name for name in SHAPES if name in arguments.data_sets)
    if arguments.entrants:
        changes["entrants"] = tuple(entrant for entrant in ENTRANTS if entrant.name in arguments.entrants)
    if arguments.repeats:
        changes["pipeline_repeats"] = arguments.repeats
    return changes


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
