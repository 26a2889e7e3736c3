"""Notices that nothing moves: a thread beside the one that waits for environments.

Stepping costs nothing for it: the thread looks at numbers that are written anyway, a few times
per timeout. It cannot look while compiled code holds Python's lock in this process; in worker
processes that does not matter.
"""

import threading
import time
import weakref
from collections.abc import Callable
from typing import Final

_LONGEST_NAP_S: Final = 5.0


class Silence:
    """Reports, once, when the sign of life has not changed for too long."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._sign: object = None
        self._since = 0.0
        self._reported = False

    def is_too_long(self, sign: object, now: float) -> bool:
        """`sign` is None while nothing is waited for."""
        if sign is None or sign != self._sign:
            self._sign, self._since, self._reported = sign, now, False
            return False
        if self._reported or now - self._since < self._timeout_s:
            return False
        self._reported = True
        return True


class Watchdog:
    """Calls `alarm` when `sign` has not changed for `timeout_s`; both are methods of one object.

    It does not keep that object alive.
    """

    def __init__(
        self, sign: Callable[[], object], alarm: Callable[[], None], timeout_s: float
    ) -> None:
        self._sign, self._alarm = weakref.WeakMethod(sign), weakref.WeakMethod(alarm)
        self._timeout_s = timeout_s
        self._over = threading.Event()
        threading.Thread(target=self._watch, name="spotter watchdog", daemon=True).start()

    def _watch(self) -> None:
        silence = Silence(self._timeout_s)
        while not self._over.wait(min(_LONGEST_NAP_S, self._timeout_s / 4)):
            sign, alarm = self._sign(), self._alarm()
            if sign is None or alarm is None:
                return
            if silence.is_too_long(sign(), time.monotonic()):
                alarm()
            del sign, alarm

    def stop(self) -> None:
        self._over.set()
