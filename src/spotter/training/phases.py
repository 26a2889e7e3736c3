"""What a run does now: in words for the live table, as a phase in run.json for others."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final, Literal

from spotter.rundir.run import Run

Phase = Literal["starting", "training", "evaluating", "testing", "saving", "filming", ""]
"""Empty once the run is over."""

_SHORT_S: Final = 0.5


class Phases:
    """The present phase of one run; `words` may be asked from any thread."""

    def __init__(self, run: Run | None) -> None:
        self._run = run
        self.current: Phase = "starting"
        self.words = ""
        """What training waits for; empty while it trains."""
        self._lasted_s: dict[Phase, float] = {}

    def begin(self, phase: Phase) -> None:
        self.current = phase
        if self._run:
            self._run.update(phase=phase)

    @contextmanager
    def during(self, phase: Phase, words: str) -> Iterator[None]:
        """A phase and back. One that was very short the last time is not recorded:
        two writes would take as long."""
        before, began, self.words = self.current, monotonic(), words
        is_written = self._lasted_s.get(phase, math.inf) >= _SHORT_S
        if is_written:
            self.begin(phase)
        try:
            yield
        finally:
            self.words = ""
            self._lasted_s[phase] = monotonic() - began
            if is_written:
                self.begin(before)
