"""A seccomp filter of system calls: a process with it can compute and use its open files, and nothing else.

An allow-list is safe even if a kernel adds system calls; calls that are not listed fail with EPERM. Installing it takes
no privileges. Linux on x86-64 and ARM64 only.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from collections.abc import Sequence

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
CALL_PLACE, ARCHITECTURE_PLACE = 0, 4  # in struct seccomp_data
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM

# By architecture: what the kernel calls it, and the numbers of write, close, mmap, mprotect, munmap, mremap, madvise,
# brk, futex, rt_sigaction, rt_sigprocmask, rt_sigreturn, sigaltstack, clock_gettime, gettimeofday, getpid, gettid,
# getrusage, sched_yield, sched_getaffinity, sysinfo, getrandom, exit, exit_group.
X86_64 = "1 3 9 10 11 25 28 12 202 13 14 15 131 228 96 39 186 98 24 204 99 318 60 231"
ARM64 = "64 57 222 226 215 216 233 214 98 134 135 139 132 113 169 172 178 165 124 123 179 278 93 94"
MACHINES = {"x86_64": (0xC000003E, X86_64), "aarch64": (0xC00000B7, ARM64)}


class Program(ctypes.Structure):
    """The kernel's struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def restrict() -> bool:
    """Filter the system calls of this process from now on; returns False if that is not supported."""
    machine = MACHINES.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        return False
    architecture, calls = machine
    instructions = program(architecture, [int(call) for call in calls.split()])
    libc = ctypes.CDLL(None, use_errno=True)
    filtered = Program(len(instructions) // 8, instructions)
    return bool(
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
        and libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filtered), 0, 0) == 0
    )


def program(architecture: int, calls: Sequence[int]) -> bytes:
    """The filter as a BPF program: other architectures are refused, then each call is looked up."""
    steps = [(LOAD_WORD, 0, 0, ARCHITECTURE_PLACE), (JUMP_IF_EQUAL, 1, 0, architecture), (RETURN, 0, 0, REFUSE)]
    steps.append((LOAD_WORD, 0, 0, CALL_PLACE))
    steps += [(JUMP_IF_EQUAL, len(calls) - index, 0, call) for index, call in enumerate(calls)]
    steps += [(RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
