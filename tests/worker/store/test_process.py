import os
import subprocess
import sys

from worker.store.process import host, identity, is_dead_here


def test_a_living_process_is_not_dead() -> None:
    assert not is_dead_here(identity(os.getpid()))


def test_a_zombie_and_a_buried_process_are_dead() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    name = identity(process.pid)
    assert not is_dead_here(name)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # ended, not yet waited for
    assert is_dead_here(name)
    process.communicate()
    assert is_dead_here(name)


def test_who_was_dead_when_first_looked_at_is_dead() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert is_dead_here(identity(process.pid))


def test_another_process_with_the_same_id_does_not_bring_it_back() -> None:
    assert is_dead_here(f"{host()}/{os.getpid()}/1")


def test_of_other_hosts_nothing_is_known() -> None:
    assert not is_dead_here("elsewhere/1/1")
