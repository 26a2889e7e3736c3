"""CartPole: how far the cart is from the edges and the pole from falling, from 0 to 1.

Φ = weighted mean of (1 − |position| / limit) and (1 − |angle| / limit), so 1 is a still pole in
the middle of the track and 0 is the very edge of both.
"""

from typing import Any, Literal, Protocol, Self, runtime_checkable

from pydantic import Field, model_validator

from spotter.config import SignalConfig
from spotter.envs.base import Env
from spotter.envs.signals import Kind, Signal
from spotter.types import UserError


class Config(SignalConfig):
    source: Literal["cartpole_centre"]
    centre: float = Field(0.5, ge=0, description="Share of the cart's place.")
    upright: float = Field(0.5, ge=0, description="Share of the pole's angle.")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.centre + self.upright <= 0:
            raise ValueError("`centre` and `upright` must not both be 0")
        return self


@runtime_checkable
class Cart(Protocol):
    """What CartPole has."""

    x_threshold: float
    theta_threshold_radians: float


def make(config: Config, env: Env) -> Signal:
    cart = env.unwrapped
    if not isinstance(cart, Cart):
        raise UserError(
            f"reward signal cartpole_centre is for CartPole only, and this is {type(cart).__name__}"
        )
    return CartPoleCentre(config, cart)


class CartPoleCentre:
    kind: Kind = "potential"

    def __init__(self, config: Config, cart: Cart) -> None:
        total = config.centre + config.upright
        self._centre, self._upright = config.centre / total, config.upright / total
        self._limits = cart

    def start(self, obs: Any, info: dict[str, Any]) -> float:
        return self._potential(obs)

    def step(self, obs: Any, action: Any, reward: float, info: dict[str, Any]) -> float:
        return self._potential(obs)

    def _potential(self, obs: Any) -> float:
        position, _, angle, _ = (abs(float(x)) for x in obs)
        centred = max(0.0, 1 - position / float(self._limits.x_threshold))
        upright = max(0.0, 1 - angle / float(self._limits.theta_threshold_radians))
        return self._centre * centred + self._upright * upright
