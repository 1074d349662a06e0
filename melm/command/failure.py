"""Error messages of commands, one line for each problem, and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

from melm.command.terminal import printable
from melm.extras import MissingExtra

EXIT_CODES = """exit codes:
  0    done
  1    the fit failed or was canceled, or the service had a problem of its own
  2    the command line is wrong
  3    a file, a parameter or a key is wrong
  4    there is no such fit, model or dataset
  5    the service does not answer
  130  interrupted by Ctrl-C"""


class ExitCode(IntEnum):
    """The exit codes of all commands."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    WRONG_INPUT = 3
    NOT_FOUND = 4
    UNREACHABLE = 5
    INTERRUPTED = 130


class CommandError(Exception):
    """An error of a command; its message has one line for each problem."""

    def __init__(self, message: str, exit_code: ExitCode = ExitCode.WRONG_INPUT) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass
class CommandResult:
    """The outcome of a command."""

    exit_code: ExitCode = ExitCode.DONE


@contextmanager
def explained() -> Iterator[CommandResult]:
    """Turn exceptions into lines on standard error and an exit code."""
    outcome = CommandResult()
    try:
        yield outcome
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt as interrupt:
        outcome.exit_code = ExitCode.INTERRUPTED
        say(str(interrupt) or "interrupted")
    except Exception as error:
        code = exit_code_of(error)
        if code is None:
            raise
        outcome.exit_code = code
        say(describe(error))


def exit_code_of(error: Exception) -> ExitCode | None:
    """The exit code of an expected error; None for a bug."""
    if isinstance(error, CommandError):
        return error.exit_code
    if isinstance(error, MissingExtra) or (isinstance(error, OSError) and not isinstance(error, ConnectionError)):
        return ExitCode.WRONG_INPUT
    if "melm.remote" not in sys.modules:  # without the client the error cannot be one of the client
        return None
    from melm.remote import errors

    table: dict[type[Exception], ExitCode] = {
        errors.NotFound: ExitCode.NOT_FOUND,
        errors.Unreachable: ExitCode.UNREACHABLE,
        errors.FitEnded: ExitCode.FAILED,
        errors.Unavailable: ExitCode.FAILED,
        errors.RemoteError: ExitCode.WRONG_INPUT,
    }
    return next((code for kind, code in table.items() if isinstance(error, kind)), None)


def describe(error: Exception) -> str:
    """The message of an error, with one line for each problem."""
    if "melm.remote" in sys.modules:
        from melm.remote import ResponseError

        if isinstance(error, ResponseError) and error.errors:
            return "\n".join(map(str, error.errors))
    return str(error)


def say(message: str) -> None:
    """Print the lines of a message on standard error."""
    for line in message.splitlines():
        sys.stderr.write(f"melm: {printable(' '.join(line.split()))}\n")
