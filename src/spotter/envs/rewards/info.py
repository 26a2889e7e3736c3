"""A number from the environment's `info` as reward: {source: info, key: x_position, delta: true}.

Dots reach into nested maps (`coins.gold`). With `delta` the change since the last step counts. A
step without the key counts 0, but a key that the very first step lacks is taken for a typo.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from spotter.config import SignalConfig
from spotter.envs.base import Env
from spotter.envs.signals import Kind, Signal
from spotter.types import UserError


class Config(SignalConfig):
    source: Literal["info"]
    key: str = Field(min_length=1, description="Key in info; dots reach into nested maps.")
    delta: bool = Field(False, description="The change since the last step, not the value.")


def make(config: Config, env: Env) -> Signal:
    return Info(config.key, config.delta)


class Info:
    kind: Kind = "sum"

    def __init__(self, key: str, delta: bool) -> None:
        self._key = key
        self._delta = delta
        self._previous = 0.0
        self._is_proven = False

    def start(self, obs: object, info: Mapping[str, object]) -> float:
        self._previous = self._number(info) or 0.0
        return 0.0

    def step(self, obs: object, action: Any, reward: float, info: Mapping[str, object]) -> float:
        value = self._number(info)
        if value is None:
            if not self._is_proven:
                there = ", ".join(_paths(info)) or "nothing"
                raise UserError(f"{self._where} is not there; info has {there}")
            return 0.0
        self._is_proven = True
        if not self._delta:
            return value
        change, self._previous = value - self._previous, value
        return change

    @property
    def _where(self) -> str:
        return f"reward signal info: info['{self._key}']"

    def _number(self, info: Mapping[str, object]) -> float | None:
        """The value at the key, or None where it is missing."""
        value: Any = info
        for part in self._key.split("."):
            if not isinstance(value, Mapping) or part not in value:
                return None
            value = value[part]
        try:
            return float(value)
        except (TypeError, ValueError) as error:
            raise UserError(f"{self._where} is {value!r}, not a number") from error


def _paths(info: Mapping[str, object], above: str = "") -> list[str]:
    paths: list[str] = []
    for key, value in info.items():
        path = f"{above}{key}"
        paths += _paths(value, f"{path}.") if isinstance(value, Mapping) else [path]
    return paths
