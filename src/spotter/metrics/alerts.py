"""What can go wrong in a run, as data: each alert says what it saw and what to try."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["info", "warning", "critical"]


@dataclass(frozen=True, slots=True)
class Alert:
    """One rule firing on one row."""

    id: str
    metric: str
    level: Level
    saw: str
    advice: str


@dataclass(frozen=True, slots=True)
class AlertCount:
    """How often a rule fired in a run, and what it saw last."""

    last: Alert
    updates: int
    share: float
    """Of all updates."""
    first_env_steps: int
    last_env_steps: int
