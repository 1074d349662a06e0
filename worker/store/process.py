"""Unique identities of processes, by which a dead process is told from a new one with the same process id."""

from __future__ import annotations

import hashlib
import os
import socket
from functools import cache
from pathlib import Path


@cache
def host() -> str:
    """The scope of process ids: the boot of this machine, and the container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text() + str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # not Linux: one process table per host
        boot = socket.gethostname()
    return hashlib.sha256(boot.encode()).hexdigest()[:16]


def identity(pid: int) -> str:
    """Host, process id and the time the process began: unique even if process ids are reused."""
    return f"{host()}/{pid}/{_began(pid)}"


def is_dead_here(process: str) -> bool:
    """Whether a process of this host has died. False for processes of other hosts, which cannot be checked."""
    where, pid, began = process.split("/")
    return where == host() and (began == "" or _began(int(pid)) != began)


def _began(pid: int) -> str:
    """The start time of a process in clock ticks; empty if it does not exist or is a zombie."""
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
