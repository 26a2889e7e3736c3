"""LunarLander with other gravity, wind and engines, resampled at every reset.

Engine power is a constant of Gymnasium's module, shared by all landers of a process, so it is set
around this env's own steps only and put back at once. The draw is in `info["physics"]`.
"""

import sys
from typing import Any, Final, Literal, Self

from pydantic import Field, model_validator

from spotter.config import WrapperConfig
from spotter.envs.base import Env
from spotter.envs.wrapping import Range, SeededWrapper, Start, Step
from spotter.types import UserError

_MODULE: Final = "gymnasium.envs.box2d.lunar_lander"


class Config(WrapperConfig):
    name: Literal["lunar_physics"]
    gravity: Range | None = Field(None, description="Within -12 to 0; the game's own is -10.")
    wind_power: Range | None = Field(None, description="0 is calm, 20 a storm; switches wind on.")
    turbulence_power: Range | None = Field(None, description="0 to 2; switches wind on.")
    main_engine: Range | None = Field(None, description="Factor on the main engine's power.")
    side_engine: Range | None = Field(None, description="Factor on the side engines' power.")

    @model_validator(mode="after")
    def _physical(self) -> Self:
        if self.gravity and not -12 <= self.gravity[0] <= self.gravity[1] <= 0:
            raise ValueError("`gravity` must lie within -12 and 0")
        ranges = self.ranges()
        if not ranges:
            raise ValueError("give at least one range, e.g. gravity: [-11, -9]")
        for name, (low, _) in ranges.items():
            if name != "gravity" and low < 0:
                raise ValueError(f"`{name}` must not be negative")
        return self

    def ranges(self) -> dict[str, tuple[float, float]]:
        """What is drawn, by name."""
        named = {
            "gravity": self.gravity,
            "wind_power": self.wind_power,
            "turbulence_power": self.turbulence_power,
            "main_engine": self.main_engine,
            "side_engine": self.side_engine,
        }
        return {name: pair for name, pair in named.items() if pair is not None}


def wrap(config: Config, env: Env) -> Env:
    module: Any = sys.modules.get(_MODULE)  # loaded, if this environment is a lander
    if module is None or not isinstance(env.unwrapped, module.LunarLander):
        name = type(env.unwrapped).__name__
        raise UserError(f"lunar_physics is for LunarLander only, and this is {name}; try randomize")
    return LunarPhysics(env, config.ranges(), module)


class LunarPhysics(SeededWrapper):
    def __init__(self, env: Env, ranges: dict[str, tuple[float, float]], module: Any) -> None:
        super().__init__(env)
        self._ranges = ranges
        self._module = module
        self._usual_power = (module.MAIN_ENGINE_POWER, module.SIDE_ENGINE_POWER)
        self._power = self._usual_power
        self._physics: dict[str, float] = {}
        if {"wind_power", "turbulence_power"} & set(ranges):
            self._switch_wind_on()

    def _switch_wind_on(self) -> None:
        """What is not drawn stays as it was: without wind, that was none at all."""
        lander: Any = self.env.unwrapped
        if not lander.enable_wind:
            lander.enable_wind = True
            lander.wind_power = lander.turbulence_power = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        self.reseed(seed)
        self._physics = {
            name: float(self.draw.uniform(low, high)) for name, (low, high) in self._ranges.items()
        }
        for name in {"gravity", "wind_power", "turbulence_power"} & set(self._physics):
            setattr(self.env.unwrapped, name, self._physics[name])
        main, side = self._usual_power
        self._power = (
            main * self._physics.get("main_engine", 1.0),
            side * self._physics.get("side_engine", 1.0),
        )
        obs, info = self.env.reset(seed=seed, options=options)
        return obs, {**info, "physics": dict(self._physics)}

    def step(self, action: object) -> Step:
        self._set_power(self._power)
        try:
            obs, reward, terminated, truncated, info = self.env.step(action)
        finally:
            self._set_power(self._usual_power)
        info = {**info, "physics": dict(self._physics)}
        return obs, float(reward), terminated, truncated, info

    def _set_power(self, power: tuple[float, float]) -> None:
        self._module.MAIN_ENGINE_POWER, self._module.SIDE_ENGINE_POWER = power
