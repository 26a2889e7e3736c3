"""MountainCar, both versions: how close the car is to having what it takes, from 0 to 1.

`energy` (the default) counts height and speed together: 0 at rest in the valley, 1 once the car
has the energy of standing at the flag. Swinging back and forth raises it steadily, which height
alone does not show. `height` is the car's place on the slope only.
"""

import math
from typing import Any, Final, Literal, Protocol, runtime_checkable

from pydantic import Field

from spotter.config import SignalConfig
from spotter.envs.base import Env
from spotter.envs.signals import Kind, Signal
from spotter.types import UserError

_USUAL_GRAVITY: Final = 0.0025  # MountainCarContinuous has it as a bare number in its step


class Config(SignalConfig):
    source: Literal["mountain_car"]
    measure: Literal["energy", "height"] = Field("energy", description="What Φ measures.")


@runtime_checkable
class Car(Protocol):
    """What both versions of MountainCar have."""

    goal_position: float
    max_speed: float


def make(config: Config, env: Env) -> Signal:
    car = env.unwrapped
    if not isinstance(car, Car):
        raise UserError(
            f"reward signal mountain_car is for MountainCar only, and this is {type(car).__name__}"
        )
    return MountainCar(car, counts_speed=config.measure == "energy")


class MountainCar:
    kind: Kind = "potential"

    def __init__(self, car: Car, counts_speed: bool) -> None:
        self._car = car
        self._counts_speed = counts_speed

    def start(self, obs: Any, info: dict[str, Any]) -> float:
        return self._potential(obs)

    def step(self, obs: Any, action: Any, reward: float, info: dict[str, Any]) -> float:
        return self._potential(obs)

    def _potential(self, obs: Any) -> float:
        """The slope pulls with −gravity·cos(3x), so a place is worth gravity·sin(3x)/3."""
        position, velocity = float(obs[0]), float(obs[1])
        per_height = getattr(self._car, "gravity", _USUAL_GRAVITY) / 3
        above_valley = per_height * (math.sin(3 * position) + 1)
        needed = per_height * (math.sin(3 * self._car.goal_position) + 1)
        moving = velocity**2 / 2 if self._counts_speed else 0.0
        return min(1.0, (above_valley + moving) / needed)
