"""The build stage of a Dockerfile, carried out without Docker: the same commands, in a folder of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PREFIX = "/opt/melm"  # where the image keeps what it runs


@dataclass(frozen=True)
class Instruction:
    """One line of a Dockerfile, continuations joined: its word, and what follows it."""

    word: str
    rest: str


def read_stages(dockerfile: Path) -> list[list[Instruction]]:
    """The instructions of each stage."""
    lines = [line for line in dockerfile.read_text().splitlines() if line.strip() and not line.startswith("#")]
    stages: list[list[Instruction]] = []
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        word, rest = line.split(maxsplit=1)
        if word == "FROM":
            stages.append([])
        stages[-1].append(Instruction(word, rest))
    return stages


def carry_out(stage: list[Instruction], context: Path, root: Path) -> Path:
    """Run a build stage with files from `context`; the folder under `root` that stands for the image's prefix."""
    prefix = root / PREFIX.lstrip("/")
    work = root
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TARGETARCH": "amd64"}
    environment |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
    for instruction in stage:
        match instruction.word:
            case "WORKDIR":
                work = root / instruction.rest.lstrip("/")
                work.mkdir(parents=True, exist_ok=True)
            case "COPY":
                *sources, target = instruction.rest.split()
                for source in sources:
                    copy(context / source, work / target)
            case "RUN":
                command = re.sub(r"^(--mount=\S+ +)+", "", instruction.rest).replace(PREFIX, str(prefix))
                done = subprocess.run(["sh", "-ec", command], cwd=work, env=environment, capture_output=True, text=True)
                assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return prefix


def copy(source: Path, target: Path) -> None:
    """Copy as COPY does: a folder's content into the target, a file under its name into a folder."""
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)
