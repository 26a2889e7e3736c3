"""What is measured about an episode, apart from what the learner sees.

The meter is the innermost wrapper of an env, below frame skip, shaping and clipping, so `score` is
the game's own reward. The tally adds up the numbers an environment puts into `info`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from spotter import plugins
from spotter.config import SignalConfig
from spotter.envs.base import Env
from spotter.envs.contract import ERRORS, FLAGS, Guard, reset_problem, step_problem
from spotter.envs.signals import Kind, Signal

GAME_GOES_ON: Final = "game_goes_on"
"""Key in `info`: this end is the learner's only; score and length run on (see life_loss)."""
_NOT_MEASURED: Final = frozenset({"action_mask", GAME_GOES_ON})
_NUMBERS: Final = (int, float, np.integer, np.floating, np.bool_)


class Meter(gym.Wrapper[Any, Any, Any, Any]):
    """The raw score and the reward signals of one env."""

    def __init__(self, env: Env, signals: Sequence[SignalConfig] = ()) -> None:
        super().__init__(env)
        self.score = 0.0
        self.signals: list[Signal] = [
            plugins.load("signals", config.source).make(config, env) for config in signals
        ]
        self.values = np.zeros(len(self.signals))
        self._guard = Guard()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(signal.kind for signal in self.signals)

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        try:
            start = self.env.reset(seed=seed, options=options)
        except ERRORS as error:
            self._guard.after_reset(self.env, error, seed)
            raise
        self._guard.refuse(reset_problem(self.env, start))
        obs, info = start
        self.score = 0.0
        for i, signal in enumerate(self.signals):
            self.values[i] = signal.start(obs, info)
        return obs, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        try:
            obs, reward, terminated, truncated, info = self.env.step(action)
        except ERRORS as error:
            self._guard.after_step(self.env, error, action)
            raise
        paid = reward if type(reward) is float else self._guard.number(self.env, reward)
        if type(info) is not dict or type(terminated) not in FLAGS or type(truncated) not in FLAGS:
            self._guard.refuse(step_problem(self.env, (obs, paid, terminated, truncated, info)))
        self._guard.proven = True
        self.score += paid
        for i, signal in enumerate(self.signals):
            value = signal.step(obs, action, paid, info)
            self.values[i] = self.values[i] + value if signal.kind == "sum" else value
        return obs, paid, terminated, truncated, info

    def take(self, out: npt.NDArray[np.float64]) -> None:
        """Hand over the signals of this decision and start summing the next one."""
        out[:] = self.values
        for i, signal in enumerate(self.signals):
            if signal.kind == "sum":
                self.values[i] = 0.0


class Tally:
    """Every numeric key of `info` over one episode."""

    def __init__(self) -> None:
        self._sums: dict[str, list[float]] = {}  # total, steps that had the key, last value

    def add(self, info: Mapping[str, object]) -> None:
        for key, value in info.items():
            if not isinstance(value, _NUMBERS):
                continue
            number = float(value)
            known = self._sums.get(key)
            if known is not None:
                known[0] += number
                known[1] += 1
                known[2] = number
            elif isinstance(key, str) and key[:1] != "_" and key not in _NOT_MEASURED:
                self._sums[key] = [number, 1, number]

    def numbers(self) -> dict[str, float]:
        """`<key>/mean` over the steps that had the key, and `<key>/last`."""
        return {
            f"{key}/{name}": value
            for key, (total, steps, last) in self._sums.items()
            for name, value in (("mean", total / steps), ("last", last))
        }

    def clear(self) -> None:
        if self._sums:
            self._sums = {}
