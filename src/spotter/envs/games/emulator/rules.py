"""What ends an episode besides the game itself, read from the numbers in a game's memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Names of numbers are empty where they do not matter; limits are None where there is none."""

    lives: str = ""
    """Falls when a life is lost."""
    level: tuple[str, ...] = ()
    """Where in the game one is, the larger unit first."""
    stall: int | None = None
    """Decisions without a higher score than ever."""
    decisions: int | None = None
    frames: int | None = None


@dataclass(frozen=True)
class Verdict:
    """Whether an episode is over (a lost life, another level) or is cut off (limits)."""

    over: bool
    cut: bool
    info: Mapping[str, int]
    """Which of the rules it was, 0 or 1 each; only those in force."""


class Referee:
    """Applies the rules to one episode after another."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._lives = 0
        self._where: tuple[object, ...] = ()
        self._score = self._best = 0.0
        self._decisions = self._frames = self._idle = 0

    def start(self, info: Mapping[str, object]) -> None:
        """An episode begins; the numbers are those of its first state."""
        self._score = self._best = 0.0
        self._decisions = self._frames = self._idle = 0
        self._look(info)

    def judge(self, info: Mapping[str, object], reward: float, frames: int) -> Verdict:
        """After each decision, with its frames and the game's own reward."""
        rules, lives, where = self._rules, self._lives, self._where
        self._look(info)
        self._decisions += 1
        self._frames += frames
        self._score += reward
        self._idle = 0 if self._score > self._best else self._idle + 1
        self._best = max(self._best, self._score)
        said: dict[str, int] = {}
        if rules.lives:
            said["life_lost"] = int(self._lives < lives)
        if rules.level:
            said["level_finished"] = int(self._where > where)
        if rules.stall is not None:
            said["stalled"] = int(self._idle >= rules.stall)
        over = bool(said.get("life_lost")) or self._where != where
        cut = bool(said.get("stalled")) or self._is_late()
        return Verdict(over, cut and not over, said)

    def _look(self, info: Mapping[str, Any]) -> None:
        if self._rules.lives:
            self._lives = int(info[self._rules.lives])
        self._where = tuple(info[name] for name in self._rules.level)

    def _is_late(self) -> bool:
        pairs = ((self._rules.decisions, self._decisions), (self._rules.frames, self._frames))
        return any(most is not None and now >= most for most, now in pairs)

    def save(self) -> dict[str, object]:
        return dict(vars(self))

    def restore(self, saved: Mapping[str, object]) -> None:
        vars(self).update(saved)
