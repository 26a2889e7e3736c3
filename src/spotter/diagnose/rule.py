"""What a rule is: the parts that alerts apply while training, and those of the doctor."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from spotter.config.advice import settings_in
from spotter.diagnose.doctor.case import Case
from spotter.diagnose.doctor.found import About, Found, Level
from spotter.diagnose.evidence import Clock, Evidence
from spotter.diagnose.facts import Facts
from spotter.diagnose.judges import Seen

__all__ = ["Level", "Online", "Rule", "urgency"]

_LEVELS: Final = ("critical", "warning", "info")


def urgency(level: str) -> int:
    """0 for the most serious level; an unknown one comes last."""
    return _LEVELS.index(level) if level in _LEVELS else len(_LEVELS)


def _always(facts: Facts) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Online:
    """How a rule is applied to every row of a run that trains."""

    judge: Callable[[Evidence], Seen | None]
    advice: str
    """Settings of the config, most likely first."""
    reads: tuple[str, ...] = ()
    """Metrics it follows from block to block; others it takes from the row."""
    clock: Clock = "block"
    """When it is judged."""
    rise: int = 2
    """Judgements in a row before it speaks."""
    fall: int = 2
    """Fine ones in a row before it is silent again."""
    lasting_s: float = 0.0
    """Seconds it must have been so before it speaks."""
    applies: Callable[[Facts], bool] = _always


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that can go wrong."""

    id: str
    level: Level
    about: About
    offline: Callable[[Case], Found | None] | None
    """None: judged while training only, or by playing (surroundings.py)."""
    then: str = ""
    """What else to try, one sentence of the doctor's."""
    explains: tuple[str, ...] = ()
    """Rules that need not be reported where this one holds."""
    failing: bool = True
    """Judged only where the run did not succeed, and there are rows enough to say so."""
    online: Online | None = None
    remedy: Callable[[Case], str] | None = None
    """The first change to try for an alert that no rule explains."""

    @property
    def advice(self) -> str:
        return self.online.advice if self.online else ""

    @property
    def settings(self) -> tuple[str, ...]:
        """Those it advises to touch."""
        return settings_in(f"{self.advice} {self.then}")
