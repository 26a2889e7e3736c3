"""Signals ask training to stop at the next safe point; a second Ctrl-C or SIGTERM insists.

SIGINT (Ctrl-C), SIGTERM (`timeout`, Slurm, shutdown) and SIGHUP (closed terminal, lost connection)
all do the same. Before the first update there is nothing to save, and a run ends where it waits.
"""

import _thread
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import current_process
from multiprocessing.connection import Connection
from time import monotonic
from types import FrameType
from typing import Any, Final, Literal, Self

from spotter.types import UserError

Request = Literal["interrupted", "terminated", "hangup"]
EXIT_CODES: Final[dict[str, int]] = {"interrupted": 130, "terminated": 143, "hangup": 129}
_SIGNALS: Final[dict[str, Request]] = {
    "SIGINT": "interrupted",
    "SIGTERM": "terminated",
    "SIGHUP": "hangup",
    "SIGBREAK": "interrupted",  # how Windows asks a process in a group of its own
}
_SAME_REQUEST_S: Final = 1.0
"""`timeout` signals the process and then its group, a terminal and its shell both hang up, and
whatever passes a signal on repeats it: all of that is one request."""
_INSIST_S: Final = 60.0
"""Between asking for an overdue stop and insisting on it."""
_LOOK_EVERY_S: Final = 0.1
_checks: list[Callable[[], None]] = []


def ask_to_stop(pid: int) -> None:
    """What Ctrl-C does, to one process; `OSError` where it is gone or another user's."""
    # Windows delivers Ctrl-C to a whole console only; Ctrl-Break reaches one process group
    if sys.platform == "win32":
        os.kill(pid, signal.CTRL_BREAK_EVENT)
    else:
        os.kill(pid, signal.SIGINT)


class Interrupted(KeyboardInterrupt):
    """A signal ended the process's work before it could be saved, or without saving it."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.request = request


class Interrupts:
    """While entered, signals set `requested` instead of ending the process."""

    def __init__(self) -> None:
        self.requested: Request | None = None
        self.on_request: Callable[[str], None] = say
        self._asked_at = -float("inf")
        self._has_begun = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> Self:
        self._before = _install(self._handle)
        _checks.append(self.check)
        return self

    def __exit__(self, *exception: object) -> None:
        _checks.remove(self.check)
        _restore(self._before)
        self._before = {}

    def begin(self) -> None:
        """From here on there is something to save, and a stop waits for the end of the update."""
        self.check()
        self._has_begun = True

    def check(self) -> None:
        """Raises `Interrupted` where a stop is wanted before `begin`."""
        if self.requested and not self._has_begun:
            raise Interrupted(self.requested)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        request = _request(number)
        if self.requested is None:
            self.requested, self._asked_at = request, monotonic()
            self.on_request(
                "stopping after this update; once more to exit at once"
                if self._has_begun
                else "stopping before the first update; once more to exit at once"
            )
        elif request != "hangup" and monotonic() - self._asked_at >= _SAME_REQUEST_S:
            raise Interrupted(request)

    @contextmanager
    def overdue(self, after_s: float | None) -> Iterator[None]:
        """After so many seconds ask for a stop, and if nothing comes of it insist: a limit holds
        also in an update or an evaluation that takes for ever."""
        timers = []
        if after_s is not None and self._before:
            timers = [
                threading.Timer(after_s, self._ask_late),
                threading.Timer(after_s + _INSIST_S, _thread.interrupt_main),
            ]
        for timer in timers:
            timer.daemon = True
            timer.start()
        try:
            yield
        finally:
            for timer in timers:
                timer.cancel()

    def _ask_late(self) -> None:
        if not self.requested:
            self.requested = "terminated"
            self.on_request("its minutes are long spent: stopping")

    def stopping(self) -> bool:
        return self.requested is not None


def check() -> None:
    """Raises `Interrupted` if whatever is being started here is not wanted any more."""
    for each in _checks:
        each()


def await_child(pipe: Connection) -> None:
    """Wait until a child that is starting says something, or is gone."""
    while True:
        check()
        with contextlib.suppress(ConnectionError):  # Windows: that it is gone is an answer, too
            if not pipe.poll(_LOOK_EVERY_S):
                continue
        return


@contextmanager
def unless_closed(pipe: Connection) -> Iterator[None]:
    """In a child: what is started in here is given up once the parent has closed the pipe."""

    def look() -> None:
        if pipe.poll():  # the parent says nothing before it has heard of us: this is the end
            raise Interrupted("terminated")

    _checks.append(look)
    try:
        yield
    finally:
        _checks.remove(look)


@contextmanager
def exit_at_once() -> Iterator[None]:
    """Before anything is started, signals end the process, in the middle of an import as well."""
    before = _install(_exit)
    try:
        yield
    finally:
        _restore(before)


def _exit(number: int, frame: FrameType | None) -> None:
    request = _request(number)
    say(f"spotter: {request}")
    os._exit(EXIT_CODES[request])


def _request(number: int) -> Request:
    return _SIGNALS[signal.Signals(number).name]


def _install(handler: Callable[[int, FrameType | None], None]) -> dict[int, object]:
    """The handlers that were there before."""
    before: dict[int, object] = {}
    if threading.current_thread() is not threading.main_thread():  # Python allows it nowhere else
        return before
    for name in _SIGNALS:
        number = signal.Signals.__members__.get(name)
        if number is None or _is_nohup(number):
            continue
        before[number] = signal.signal(number, handler)
    return before


def _is_nohup(number: signal.Signals) -> bool:
    """Whether `nohup` has started us: a run that shall survive its terminal."""
    return number.name == "SIGHUP" and signal.getsignal(number) == signal.SIG_IGN


def _restore(before: dict[int, Any]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)


def say(text: str) -> None:
    """Straight to the terminal: printing from a signal handler may meet another print half-way."""
    with contextlib.suppress(OSError):
        os.write(2, f"\n{text}\n".encode())


def refuse_in_a_child() -> None:
    """A process we start reads the user's script again: without a guard it would train, too."""
    if vars(current_process()).get("_inheriting"):
        raise UserError(
            "in a script, the call that starts training must stand under "
            '`if __name__ == "__main__":`'
        )
