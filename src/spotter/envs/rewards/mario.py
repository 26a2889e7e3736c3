"""What Super Mario Bros. is played for, one amount each: {source: mario, what: progress}.

progress  pixels reached for the first time; an impossible jump (another level, a pipe,
          another life) gives nothing and restarts the count. With `by: time` a pixel gives
          the share of the clock that is left, so that the same way is worth more when it is fast.
time      −1 for every tick of the game's clock; not when it is converted to points after a level
death     −1 for every lost life
finish    +1 for every level that is left for a later one
score     the points of the game

All of it comes from `info`. `numbers` names other keys than those of stable-retro's Super Mario
Bros., the high byte first, so the same signals serve any game that has such numbers.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from spotter.config import SignalConfig
from spotter.envs.base import Env
from spotter.envs.signals import Kind, Signal
from spotter.types import UserError

What = Literal["progress", "time", "death", "finish", "score"]
_NUMBERS: Final[dict[What, tuple[str, ...]]] = {
    "progress": ("xscrollHi", "xscrollLo"),
    "time": ("time",),
    "death": ("lives",),
    "finish": ("levelHi", "levelLo"),
    "score": ("score",),
}


class Config(SignalConfig):
    source: Literal["mario"]
    what: What = Field(description="Which amount.")
    numbers: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        (), description="Keys of info, the high byte first; empty: Super Mario Bros.'s own."
    )
    jump: float = Field(100, gt=0, description="More pixels than this in one decision are a jump.")
    by: Literal["distance", "time"] = Field(
        "distance", description="progress only; time: weighed by the share of the clock left."
    )
    clock: str = Field("time", description="Key of the clock, for progress by time.")


def make(config: Config, env: Env) -> Signal:
    keys = config.numbers or _NUMBERS[config.what]
    if config.what == "progress":
        return Progress(keys, config.jump, config.clock if config.by == "time" else "")
    return Clock(keys) if config.what == "time" else Change(keys, _WORTH[config.what])


class Change:
    """The amount that a change of one number is worth."""

    kind: Kind = "sum"

    def __init__(self, keys: tuple[str, ...], worth: Callable[[float], float]) -> None:
        self._keys, self._worth = keys, worth
        self._before: float | None = None

    def start(self, obs: object, info: Mapping[str, object]) -> float:
        self._before = number(info, self._keys) if self._keys[0] in info else None
        return 0.0

    def step(self, obs: object, action: object, reward: float, info: Mapping[str, object]) -> float:
        before, self._before = self._before, number(info, self._keys)
        return 0.0 if before is None else self._worth(self._before - before)


_WORTH: Final[dict[What, Callable[[float], float]]] = {
    "death": lambda change: min(0.0, change),
    "finish": lambda change: float(change > 0),
    "score": lambda change: max(0.0, change),
}


class Clock(Change):
    """A clock that falls by more than a tick, or twice running, is being converted to points."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        super().__init__(keys, self._passed)
        self._fell = False

    def _passed(self, change: float) -> float:
        fell, self._fell = self._fell, change < 0
        return -1.0 if change == -1 and not fell else 0.0

    def start(self, obs: object, info: Mapping[str, object]) -> float:
        self._fell = False
        return super().start(obs, info)


class Progress:
    kind: Kind = "sum"

    def __init__(self, keys: tuple[str, ...], jump: float, clock: str) -> None:
        self._keys, self._jump, self._clock = keys, jump, clock
        self._x: float | None = None
        self._best = 0.0
        self._full_clock = 0.0

    def start(self, obs: object, info: Mapping[str, object]) -> float:
        self._x = None
        self._full_clock = 0.0
        if self._keys[0] in info:
            self._arrive(info)
        return 0.0

    def step(self, obs: object, action: Any, reward: float, info: Mapping[str, object]) -> float:
        before, best = self._x, self._best
        x = number(info, self._keys)
        if before is None or abs(x - before) > self._jump:
            self._arrive(info)
            return 0.0
        self._x, self._best = x, max(best, x)
        return (self._best - best) * self._share_left(info)

    def _arrive(self, info: Mapping[str, object]) -> None:
        self._x = self._best = number(info, self._keys)

    def _share_left(self, info: Mapping[str, object]) -> float:
        """Of the clock's largest reading in this episode; all of it where that does not matter."""
        if not self._clock:
            return 1.0
        left = number(info, (self._clock,))
        self._full_clock = max(self._full_clock, left)
        return left / self._full_clock if self._full_clock else 0.0


def number(info: Mapping[str, Any], keys: tuple[str, ...]) -> float:
    """Bytes, the high one first, as one number."""
    total = 0.0
    for key in keys:
        if key not in info:
            there = ", ".join(sorted(str(name) for name in info)) or "nothing"
            raise UserError(f"reward signal mario: info['{key}'] is not there; info has {there}")
        total = total * 256 + float(info[key])
    return total
