"""Child processes: they leave signals to their parent, and they end when it does.

`timeout`, Slurm, Ctrl-C and a closed terminal signal every process of a run at once. Only the main
process may act on it: it finishes the update, saves, and ends the others. So a child starts with
these signals blocked, before Python itself is loaded in it, and ignores them from then on. A parent
that is killed takes its children along: by the kernel on Linux, elsewhere by a thread that watches.
"""

import atexit
import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Final, NamedTuple

NOT_FOR_CHILDREN: Final = tuple(
    number
    for name, number in signal.Signals.__members__.items()
    if name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
)
_WATCH_EVERY_S: Final = 1.0
_PR_SET_PDEATHSIG: Final = 1
_started: "weakref.WeakSet[BaseProcess]" = weakref.WeakSet()
_pid: Final = os.getpid()


class Parent(NamedTuple):
    """The process that started a child. Plain values, so that a command line can carry them."""

    pid: int
    in_main_thread: bool
    """The kernel ends a child with the thread that started it, so only this one will do."""


def this_process() -> Parent:
    """What a child knows about its parent."""
    return Parent(os.getpid(), threading.current_thread() is threading.main_thread())


def start(
    target: Callable[..., None], *args: object, name: str | None = None, daemon: bool = True
) -> tuple[BaseProcess, Connection]:
    """Run `target(pipe, *args)` in a new process; returns it and the other end of the pipe.

    Not a `daemon`: may have children of its own.
    """
    start_tracker()
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    # pickled apart: the child imports what it runs after it has begun to ignore signals
    work = bytes(ForkingPickler.dumps((target, args)))
    process = context.Process(
        target=_run, args=(there, this_process(), work), name=name, daemon=daemon
    )
    with signals_blocked():
        process.start()
    _started.add(process)
    there.close()  # so that either side notices the other's end
    return process, here


def _run(pipe: Connection, parent: Parent, work: bytes) -> None:
    leave_signals_to_parent()
    end_with_parent(parent)
    target, args = pickle.loads(work)
    target(pipe, *args)


def end(processes: Iterable[BaseProcess], patience_s: float) -> None:
    """Wait for processes that were asked to end; kill those that take longer."""
    processes = list(processes)
    until = time.monotonic() + patience_s
    try:
        for process in processes:
            process.join(max(0.0, until - time.monotonic()))
    finally:  # also when an interrupt ends the waiting
        for process in processes:
            if process.is_alive():
                process.kill()  # they ignore SIGTERM
        for process in processes:
            process.join()


@atexit.register
def _end_all() -> None:
    """multiprocessing would send SIGTERM to those that are left, and wait for ever."""
    if os.getpid() != _pid:
        return  # a fork, whose parent they belong to
    for process in list(_started):
        if process.is_alive():
            process.kill()


def start_tracker() -> None:
    """Python's process that frees shared memory after a crash; it would die of SIGHUP.

    Before any shared memory is made, and before children: its start unblocks signals again.
    """
    if os.name == "posix":
        with signals_blocked():
            resource_tracker.ensure_running()


@contextlib.contextmanager
def signals_blocked() -> Iterator[None]:
    """A process that is started in here has these signals blocked; the parent gets them later."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, NOT_FOR_CHILDREN)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- in the child --------------------------------------------------------------------------------


def leave_signals_to_parent() -> None:
    """From here on signals do nothing; those that came while they were blocked are dropped.

    What this process starts in turn inherits that, but for SIGTERM: an environment must be able to
    end a program of its own by `terminate()`.
    """
    for number in NOT_FOR_CHILDREN:
        signal.signal(number, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.signal(signal.SIGTERM, _ignore)
        signal.siginterrupt(signal.SIGTERM, False)  # libraries may not expect an interrupted call
        _let_forks_be_terminated()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, NOT_FOR_CHILDREN)


def _ignore(number: int, frame: object) -> None:
    """A handler that does nothing; unlike SIG_IGN it is not inherited by programs."""


def _let_forks_be_terminated() -> None:
    """Blocked meanwhile: what arrives before a fork has its own handler would be dropped."""

    def unblock() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))

    def in_fork() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        unblock()

    os.register_at_fork(
        before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,)),
        after_in_parent=unblock,
        after_in_child=in_fork,
    )


def end_with_parent(parent: Parent) -> None:
    """Kill this process when its parent ends, however that comes."""
    if not (parent.in_main_thread and _ask_kernel()):
        threading.Thread(target=_watch, args=(parent.pid,), name="parent", daemon=True).start()
    if os.name == "posix" and os.getppid() != parent.pid:
        os._exit(1)  # it ended before we asked


def _ask_kernel() -> bool:
    if sys.platform != "linux":
        return False
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0)
    return False


def _watch(parent_pid: int) -> None:
    """For systems and threads for which the kernel does not do it."""
    sentinel = _sentinel(parent_pid)
    while True:
        if sentinel is None:
            time.sleep(_WATCH_EVERY_S)
        elif connection.wait([sentinel], _WATCH_EVERY_S):
            break
        if os.name == "posix" and os.getppid() != parent_pid:
            break
    os._exit(1)


def _sentinel(parent_pid: int) -> int | None:
    """What becomes readable when the parent ends."""
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid == parent_pid:
        sentinel: int = parent.sentinel
        return sentinel
    if sys.platform == "win32":
        import _winapi

        return _winapi.OpenProcess(_winapi.SYNCHRONIZE, False, parent_pid)
    return None
