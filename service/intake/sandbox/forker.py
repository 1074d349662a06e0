"""The warm process: it has imported the decoders, and forks a child for each body. It decodes nothing itself.

It has one thread, so that a fork copies a process in a known state. It reads requests, never bodies, and ends with the
process that started it.
"""

from __future__ import annotations

import gc
import io
import json
import os
import signal
import socket
import sys
from contextlib import suppress

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from melm.tables.arrow import any_size, new_matrix
from service.intake.sandbox.child import LIBC, PR_SET_THP_DISABLE, READERS, Task, run

LENGTH_BYTES = 4  # a request is preceded by its length
N_FILES = 3  # file descriptors sent with a request: body, output, reply


def serve(requests: socket.socket) -> None:
    """Answer `fork` with the process id of a new child, and `end` with its exit code; a running child is killed."""
    warm_up()
    gc.collect()
    gc.freeze()  # a collection in a child would write to pages that it shares with this process
    while True:
        length, files, _, _ = socket.recv_fds(requests, LENGTH_BYTES, N_FILES)
        message = requests.recv(int.from_bytes(length), socket.MSG_WAITALL)
        if not message:
            return
        asked = json.loads(message)
        if "end" in asked:
            requests.send(str(end(asked["end"])).encode())
            continue
        child = os.fork()
        if child == 0:
            requests.close()
            run(Task(**asked["fork"]), *files)
        for file in files:
            os.close(file)
        requests.send(str(child).encode())


def warm_up() -> None:
    """Use the libraries once, so that children inherit what they initialize at their first use."""
    table = pa.table({"number": [1.5, None], "text": ["a", None], "at": pa.array([0, None], pa.timestamp("us"))})
    sink = io.BytesIO()
    pa.parquet.write_table(table, sink)
    READERS["parquet"](sink.getvalue(), (), any_size, new_matrix)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    READERS["arrow"](sink.getvalue(), (), any_size, new_matrix)


def end(child: int) -> int:
    """Kill a child, unless it has ended; its exit code, negative for a signal."""
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    """Serve the socket whose number is the first argument. Interrupts are left to the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        LIBC.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)  # copying a huge page on write costs a child more than it saves
    nothing = os.open(os.devnull, os.O_RDWR)
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        requests.send(str(os.getpid()).encode())
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        os.close(nothing)
        serve(requests)


if __name__ == "__main__":
    main()
