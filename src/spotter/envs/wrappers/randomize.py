"""Domain randomisation: attributes of the bare environment resampled at every reset.

    {name: randomize, attributes: {gravity: [-11, -9], wind_power: [0, 20], enable_wind: true}}

Numbers are drawn uniformly from [low, high], `[false, true]` tosses a coin, a single value is set
as it is. Only what is named is set: values an environment derived from it in its constructor
(CartPole's `total_mass`) keep their own, so name those as well. The draw is in `info["physics"]`.
"""

import inspect
from typing import Annotated, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from spotter import plugins
from spotter.config import WrapperConfig
from spotter.envs.base import Env
from spotter.envs.wrapping import SeededWrapper, Start, is_number, ordered
from spotter.types import UserError


def _choice(value: object) -> object:
    """One check for all forms, so that a mistake is one sentence and not one per form."""
    if isinstance(value, bool):
        return value
    pair = (value, value) if is_number(value) else value
    if isinstance(pair, list | tuple) and len(pair) == 2:
        if all(isinstance(end, bool) for end in pair):
            return tuple(pair)
        if all(is_number(end) for end in pair):
            return ordered((float(pair[0]), float(pair[1])))
    raise ValueError(f"{value!r} should be a number, [low, high], true, false or [false, true]")


Choice = Annotated[
    bool | tuple[bool, bool] | tuple[float, float],
    BeforeValidator(
        _choice, json_schema_input_type=bool | float | tuple[bool, bool] | tuple[float, float]
    ),
]


class Config(WrapperConfig):
    name: Literal["randomize"]
    attributes: dict[str, Choice] = Field(
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
    def __init__(self, env: Env, attributes: dict[str, Choice]) -> None:
        super().__init__(env)
        self._attributes = attributes

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        self.reseed(seed)
        drawn = {name: self._draw(choice) for name, choice in self._attributes.items()}
        for name, value in drawn.items():
            setattr(self.env.unwrapped, name, value)
        obs, info = self.env.reset(seed=seed, options=options)
        return obs, {**info, "physics": drawn}

    def _draw(self, choice: Choice) -> bool | float:
        if isinstance(choice, bool):
            return choice
        low, high = choice
        if isinstance(low, bool):
            return bool(self.draw.choice([low, high]))
        return float(self.draw.uniform(low, high))
