"""What a judge of the doctor hands back, and words for numbers with the place they stand at."""

from dataclasses import dataclass
from typing import Literal

from spotter.diagnose.doctor.case import Case

Level = Literal["critical", "warning", "info"]
About = Literal["learning", "environment", "speed", "run"]


@dataclass(frozen=True, slots=True)
class Found:
    """Something that is wrong."""

    sentence: str
    evidence: tuple[str, ...]
    overrides: tuple[str, ...] = ()
    """The one change to try first."""
    level: Level | None = None
    """Where it is more serious or milder than its rule says."""
    then: str = ""
    """What else to try, where that depends on the run."""


def at_steps(case: Case, key: str) -> str:
    """`12.3 at 40,192 env steps`"""
    x, y = case.history.curve(key)
    return f"{y[-1]:.4g} at {x[-1]:,.0f} env steps" if len(y) else "unknown"
