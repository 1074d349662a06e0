"""`make fuzz`: feeds every parser for a while, in a child process that is watched.

A parser may end in a declared error. Any other exception, a dead or hanging process, or more memory than allowed is a
finding: the input is shown, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import faulthandler
import resource
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import HypothesisWarning

from tests.fuzz.targets import TARGETS, Target

ADDRESS_BYTES = 8 << 30  # so that a bomb does not take the machine with it
HANG_SECONDS = 60  # for one input; the slowest take a fraction of one on an idle machine
MEMORY_BYTES = 256 * 1024 * 1024  # that one input may take; none is larger than a megabyte
ROUND_EXAMPLES = 100
SHOWN_LENGTH = 2_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz in a child, or be the child."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description="Feed every parser what it does not expect."
    )
    parser.add_argument("--seconds", type=float, default=600, help="how long (%(default)g)")
    parser.add_argument("--examples", type=int, help="inputs per parser instead of seconds")
    parser.add_argument("--seed", type=int, default=0, help="of the first round (%(default)s)")
    parser.add_argument("--only", default="", metavar="WORD", help="parsers whose name has this word")
    parser.add_argument("--last-input", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", HypothesisWarning)  # it would rather not show inputs as long as ours
    if options.last_input is not None:
        return feed_all(options)
    with TemporaryDirectory() as folder:
        last_input = Path(folder) / "input"
        command = [sys.executable, "-m", "tests.fuzz", *(arguments if arguments is not None else sys.argv[1:])]
        code = subprocess.run([*command, "--last-input", str(last_input)]).returncode
        if code not in (0, 1):
            print(f"The process ended with {code}. Its last input: {last_input.read_text()}")
    return 0 if code == 0 else 1


def feed_all(options: argparse.Namespace) -> int:
    """Rounds over all parsers until the time is up; answers the exit code."""
    targets = [target for target in TARGETS if options.only in target.name]
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES, resource.RLIM_INFINITY))
    ends_at = time.monotonic() + options.seconds
    counts = dict.fromkeys((target.name for target in targets), 0)
    failed: set[str] = set()
    number = options.seed
    n_examples = options.examples or ROUND_EXAMPLES
    while True:
        for target in targets:
            if target.name not in failed:
                counts[target.name] += n_examples
                if not feed(target, number, n_examples, options.last_input):
                    failed.add(target.name)
            if options.examples is None and time.monotonic() > ends_at:
                break
        number += 1
        if options.examples is not None or time.monotonic() > ends_at:
            break
    print(
        f"{sum(counts.values())} inputs to {len(targets)} parsers: {len(failed)} with findings {sorted(failed) or ''}"
    )
    return 1 if failed else 0


def feed(target: Target, number: int, n_examples: int, last_input: Path) -> bool:
    """One round of one parser; a finding is made as small as possible and shown."""

    def expect_declared_errors(given: object) -> None:
        last_input.write_text(f"{target.name}: {shown(given)}")
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        before = memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak is measured from now on
        try:
            with suppress(target.declared):
                target.parse(given)
            taken = memory("VmHWM") - before
            assert taken <= MEMORY_BYTES, f"it took {taken >> 20} MiB"
        except BaseException as error:
            error.add_note(f"Input: {shown(given)}")
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()

    try:
        for given in target.hostile:
            expect_declared_errors(given)
        rounds(target, number, n_examples)(expect_declared_errors)()
    except Exception as error:
        trace = "".join(traceback.format_exception(error, limit=-4))
        print(f"{target.name}, seed {number}:\n{trace}", flush=True)
        return False
    return True


def rounds(target: Target, number: int, n_examples: int) -> Callable[[Callable[[object], None]], Callable[[], None]]:
    """What makes a test of many inputs out of a test of one."""

    def decorate(test: Callable[[object], None]) -> Callable[[], None]:
        options = settings(
            max_examples=n_examples,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            print_blob=False,
            suppress_health_check=list(HealthCheck),
        )
        return cast(Callable[[], None], seed(number)(options(given(target.inputs)(test))))

    return decorate


def shown(given: object) -> str:
    """As much of an input as fits on a screen."""
    text = repr(given)
    return text if len(text) < SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}... ({len(text)} characters)"


def memory(name: str) -> int:
    """What this process takes now (VmRSS), or has taken at most (VmHWM)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    sys.exit(main())
