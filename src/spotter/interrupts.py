"""The first Ctrl-C or SIGTERM asks training to stop at the next safe point; the second insists."""

import _thread
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, Literal, Self

Request = Literal["interrupted", "terminated"]
EXIT_CODES: Final[dict[str, int]] = {"interrupted": 130, "terminated": 143}
_SIGNALS: Final[dict[str, Request]] = {
    "SIGINT": "interrupted",
    "SIGTERM": "terminated",
    "SIGBREAK": "interrupted",  # how Windows asks a process in a group of its own
}


_INSIST_S: Final = 60.0
"""Between asking for an overdue stop and insisting on it."""


class Interrupts:
    """While entered, signals set `requested` instead of ending the process."""

    def __init__(self) -> None:
        self.requested: Request | None = None
        self.on_request: Callable[[str], None] = _say
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # Python allows it nowhere else
            for name in _SIGNALS:
                number = getattr(signal, name, None)
                if number is None:
                    continue
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = _SIGNALS[signal.Signals(number).name]
        self.on_request("stopping after this update; once more to exit at once")

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


def _say(text: str) -> None:
    """Straight to the terminal: printing from a signal handler may meet another print half-way."""
    with contextlib.suppress(OSError):
        os.write(2, f"\n{text}\n".encode())
