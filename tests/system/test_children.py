"""Children leave signals to their parent, from their first moment on, and end when it does."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from spotter.system import children

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
posix = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
PATIENCE_S = 120.0


def echo(pipe, *given):
    """Body of a child: answers what it was given, then every question."""
    pipe.send(given)
    while True:
        pipe.send(pipe.recv() + 1)


def with_program(pipe):
    """A child with a program of its own, as an environment may have; and a fork."""
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    forked = os.fork()
    if not forked:
        time.sleep(600)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGTERM)
    program.terminate()
    os.kill(forked, signal.SIGTERM)
    pipe.send((program.wait(), os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1])))


def parent(pipe, in_main_thread):
    """A child that has a child, which it starts from one thread or another."""

    def start():
        child, _ = here = children.start(echo)
        kept.append(here)
        pipe.send(child.pid)

    kept = []
    if in_main_thread:
        start()
    else:
        thread = threading.Thread(target=start)
        thread.start()
        thread.join()
    time.sleep(600)


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_it_runs_what_it_is_given_and_is_asked_by_a_pipe():
    child, pipe = children.start(echo, "a", 2)
    assert pipe.recv() == ("a", 2)
    pipe.send(1)
    assert pipe.recv() == 2
    pipe.close()
    children.end([child], PATIENCE_S)
    assert child.exitcode == 1, "it is told by the end of the pipe"


@posix
def test_signals_do_nothing_from_the_first_moment_on():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    child, pipe = children.start(echo)
    for number in children.NOT_FOR_CHILDREN:  # Python itself has hardly been loaded
        os.kill(child.pid, number)
    assert pipe.recv() == ()
    for number in children.NOT_FOR_CHILDREN:
        os.kill(child.pid, number)
    pipe.send(1)
    assert pipe.recv() == 2
    children.end([child], 0.0)
    assert child.exitcode == -signal.SIGKILL
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


@posix
def test_programs_and_forks_of_a_child_can_be_terminated():
    child, pipe = children.start(with_program)
    assert pipe.recv() == (-signal.SIGTERM, -signal.SIGTERM)
    children.end([child], PATIENCE_S)


@needs_linux
@pytest.mark.parametrize("in_main_thread", [True, False])
def test_it_ends_with_its_parent_but_not_with_a_thread_of_it(in_main_thread):
    child, pipe = children.start(parent, in_main_thread, daemon=False)
    grandchild = pipe.recv()
    assert not is_gone(grandchild)
    os.kill(child.pid, signal.SIGKILL)
    until = time.monotonic() + PATIENCE_S
    while not is_gone(grandchild) and time.monotonic() < until:
        time.sleep(0.05)
    assert is_gone(grandchild)
    child.join()


@needs_linux
def test_the_watching_thread_does_it_where_the_kernel_does_not(monkeypatch):
    code = (
        "import os, time\n"
        "from spotter.system import children\n"
        "children._ask_kernel = lambda: False\n"
        "children.end_with_parent(children.Parent(os.getppid(), True))\n"
        "print('watching', flush=True)\n"
        "time.sleep(600)"
    )
    shell = f'{sys.executable} -c "{code}" & echo $!; wait'
    outer = subprocess.Popen(["sh", "-c", shell], stdout=subprocess.PIPE, text=True)
    pid = int(outer.stdout.readline())
    assert outer.stdout.readline() == "watching\n"
    outer.kill()
    until = time.monotonic() + PATIENCE_S
    while not is_gone(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert is_gone(pid)
    outer.communicate()


@needs_linux
def test_those_left_at_the_end_of_a_program_are_killed_not_waited_for():
    code = (
        "from spotter.system import children\n"
        "from tests.system.test_children import echo\n"
        "if __name__ == '__main__':\n"
        "    kept = [children.start(echo, daemon=daemon) for daemon in (True, False)]\n"
        "    print(*[child.pid for child, _ in kept], flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert all(is_gone(int(pid)) for pid in done.stdout.split())


@needs_linux
def test_the_tracker_of_shared_memory_survives_a_closed_terminal():
    code = (
        "import os, signal\n"
        "from multiprocessing import resource_tracker\n"
        "from spotter.system import children\n"
        "children.start_tracker()\n"
        "os.kill(resource_tracker._resource_tracker._pid, signal.SIGHUP)\n"
        "import time; time.sleep(0.3)\n"
        "assert resource_tracker._resource_tracker._check_alive()\n"
        "print(signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "set()\n"), done.stderr
