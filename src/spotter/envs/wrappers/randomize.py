"""Domain randomisation: attributes of the bare environment drawn anew at every reset.

    {name: randomize, attributes: {gravity: [-11, -9], wind_power: [0, 20], enable_wind: true}}

Numbers are drawn uniformly from [low, high], `[false, true]` tosses a coin, a single value is set
as it is. Only what is named is set: values an environment derived from it in its constructor
(CartPole's `total_mass`) keep their own, so name those as well. The draw is in `info["physics"]`.
"""

import inspect
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from spotter import plugins
from spotter.config import WrapperConfig
from spotter.envs.base import Env
from spotter.envs.wrappers.base import Range, SeededWrapper, Start
from spotter.types import UserError

Switch = Annotated[tuple[bool, bool], Field(strict=False)]


class Config(WrapperConfig):
    name: Literal["randomize"]
    attributes: dict[str, bool | Switch | Range] = Field(
        min_length=1, description="Attribute of the environment -> [low, high] or a fixed value."
    )


def wrap(config: Config, env: Env) -> Env:
    known = _settable(env.unwrapped)
    for name in config.attributes:
        if name not in known:
            raise UserError(
                f"randomize: {type(env.unwrapped).__name__} has no number or switch called "
                f"'{name}'{plugins.did_you_mean(name, known)}"
            )
    return Randomize(env, config.attributes)


def _settable(env: Env) -> list[str]:
    """Public numbers and switches, of the instance or its class; properties are never run."""
    found = []
    for name in dir(env):
        value = inspect.getattr_static(env, name)
        if not name.startswith("_") and isinstance(value, int | float | np.number | np.bool_):
            found.append(name)
    return found


class Randomize(SeededWrapper):
    def __init__(self, env: Env, attributes: dict[str, Any]) -> None:
        super().__init__(env)
        self._attributes = attributes

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Start:
        self.reseed(seed)
        drawn = {name: self._draw(choice) for name, choice in self._attributes.items()}
        for name, value in drawn.items():
            setattr(self.env.unwrapped, name, value)
        obs, info = self.env.reset(seed=seed, options=options)
        return obs, {**info, "physics": drawn}

    def _draw(self, choice: Any) -> bool | float:
        if isinstance(choice, bool):
            return choice
        low, high = choice
        if isinstance(low, bool):
            return bool(self.draw.choice([low, high]))
        return float(self.draw.uniform(low, high))
