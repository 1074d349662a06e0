"""Processes by an identity that no other process ever has, so that a dead one can be told from a living one."""

from __future__ import annotations

import hashlib
import os
import socket
from functools import cache
from pathlib import Path


@cache
def host() -> str:
    """The place within which a process id means something: this boot of this machine, and the container in it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text() + str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # no Linux: one host, one process table
        boot = socket.gethostname()
    return hashlib.sha256(boot.encode()).hexdigest()[:16]


def identity(pid: int) -> str:
    """Host, process id and the time the process began: unique even where process ids are used again."""
    return f"{host()}/{pid}/{_began(pid)}"


def is_dead_here(process: str) -> bool:
    """Whether the process was one of this host and lives no more. Of other hosts nothing is known."""
    where, pid, began = process.split("/")
    return where == host() and (began == "" or _began(int(pid)) != began)


def _began(pid: int) -> str:
    """When a process began, in the kernel's ticks; empty when there is none, or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return "" if Path("/proc/self").exists() else _alive_without_proc(pid)
    except ProcessLookupError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _alive_without_proc(pid: int) -> str:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "alive"
