"""The code blocks of a Markdown page, and a shell that runs commands as a reader would: one after the other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
END = "--- end of command"


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: str
    language: str
    text: str

    @property
    def first_line(self) -> str:
        """By which a block is known."""
        return self.text.partition("\n")[0]

    def commands(self) -> Iterator[str]:
        """The commands of a shell block: lines, joined where the shell would read on."""
        command = ""
        for line in self.text.splitlines():
            command += line + "\n"
            if not line.endswith("\\") and is_complete(command):
                yield command.rstrip()
                command = ""


def is_complete(command: str) -> bool:
    """Whether the shell would run this, and not read on."""
    return subprocess.run(["bash", "-n", "-c", command], capture_output=True).returncode == 0


def blocks_of(path: Path) -> list[Block]:
    """The fenced blocks of a page. Indented ones are drawings."""
    return [Block(path.name, match["language"], match["text"]) for match in FENCE.finditer(path.read_text())]


class Shell:
    """A shell that stays the same from command to command."""

    def __init__(self, stdin: IO[str], stdout: IO[str]) -> None:
        self._stdin = stdin
        self._stdout = stdout

    def run(self, command: str) -> tuple[int, str]:
        """The exit code of a command, and all that it said."""
        self._stdin.write(f'{command}\nprintf "\\n%s %d\\n" "{END}" $?\n')
        self._stdin.flush()
        said = ""
        for line in self._stdout:
            if line.startswith(END):
                return int(line.removeprefix(END)), said
            said += line
        raise AssertionError(f"The shell ended:\n{said}")


@contextmanager
def shell(folder: Path, environment: Mapping[str, str]) -> Iterator[Shell]:
    """A shell in a folder, which knows `melm` and `python` as an activated environment does."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "melm").write_text(f"#!{sys.executable}\nimport sys\nfrom melm.command import main\nsys.exit(main())\n")
    (programs / "melm").chmod(0o755)
    (programs / "python").symlink_to(sys.executable)
    path = f"{programs}:{os.environ['PATH']}"
    with subprocess.Popen(
        ["bash", "--norc"],
        cwd=folder,
        env={**os.environ, **environment, "PATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("set -o pipefail\n")
        yield Shell(process.stdin, process.stdout)
        process.stdin.close()
