"""Doom through ViZDoom: scenarios (`VizDoom/Basic`) and whole maps. Needs `spotter-rl[vizdoom]`.

An env shows the last frames, [stack · channels, height, width] with the newest last, and game
variables beside them if asked for; an action is a combination of buttons, held for some tics (the
game has 35 a second). Each game is a process of its own, which ends with ours. What the game knows
about the player (health, kills, …) is in `info`; see doom/numbers.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, Self

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs
from gymnasium.envs.registration import EnvSpec
from pydantic import Field, model_validator

from spotter.config import EnvConfig, Whole
from spotter.envs.base import Env
from spotter.envs.games.doom import engine, numbers, scenarios
from spotter.envs.games.doom.buttons import Actions, Keyboard, chosen, kind_of
from spotter.envs.games.doom.look import Lens, Look, Pixels
from spotter.envs.spaces import Space
from spotter.types import EnvInfo, UserError

EXAMPLE: Final = "VizDoom/Basic"
TICS_PER_S: Final = 35
SEEDS: Final = 2**32
_FAMILY: Final = "vizdoom"


class Config(EnvConfig):
    """Settings of a Doom scenario or map."""

    skill: Whole | None = Field(
        None, ge=1, le=5, description="From 1, easy, to 5, a nightmare; null: the scenario's own."
    )
    wad: str = Field("", description="A WAD file of your own; empty: Freedoom, or the scenario's.")
    map: str = Field("", description="Which map of it, such as E1M1 or MAP01.")
    frame_skip: Whole = Field(4, ge=1, description="Tics per decision, of 1/35 second each.")
    tic_cap: Whole | None = Field(
        None, ge=1, description="Cut episodes after so many tics; null: as the scenario says."
    )
    buttons: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        (), description="Those to play with, such as [TURN_LEFT, ATTACK]; empty: the scenario's."
    )
    actions: Actions | None = Field(
        None,
        description="combinations: one choice among all that can be held together; groups: one "
        "per group that excludes each other; binary: each button by itself; null: combinations, "
        "or groups where there are more than 100.",
    )
    resolution: Literal[
        "160x120",
        "200x150",
        "256x144",
        "256x192",
        "320x180",
        "320x240",
        "400x225",
        "400x300",
        "640x360",
        "640x480",
    ] = Field("160x120", description="What the game draws, before it is resized.")
    grey: bool = Field(True, description="Shades of grey instead of colours.")
    size: Annotated[tuple[Whole, Whole], Field(strict=False)] | None = Field(
        (60, 80), description="[height, width]; null: as drawn."
    )
    stack: Whole = Field(4, ge=1, le=1000, description="Frames in the stack.")
    variables: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        (), description="Numbers the network sees beside the frame, such as [health, ammo]."
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.size is not None and min(self.size) < 1:
            raise ValueError("`size` is [height, width], each at least 1")
        if self.stack * self.look.shape[0] >= self.look.shape[2]:
            raise ValueError("`stack` times colours must be less than the width of a frame")
        return self

    @property
    def look(self) -> Look:
        return Look(self.resolution, self.grey, self.size)


def register() -> None:
    """Make the ids known to Gymnasium; done on import, so that workers need nothing else."""
    for name in scenarios.SCENARIOS:
        env_id = f"{scenarios.NAMESPACE}{name}"
        if env_id not in gym.registry:
            gym.registry[env_id] = _spec(env_id)


def _spec(env_id: str) -> EnvSpec:
    return EnvSpec(
        id=env_id, entry_point="spotter.envs.families.vizdoom:open_game", kwargs={"id": env_id}
    )


def open_game(render_mode: str | None = None, **settings: object) -> Env:
    """What `gym.make` calls."""
    return make(Config.from_data({"family": _FAMILY, **settings}), render_mode == "rgb_array")


register()


def make(env: EnvConfig, render: bool = False) -> Env:
    return Doom(_own(env), "rgb_array" if render else None)


def _own(env: EnvConfig) -> Config:
    config = env if isinstance(env, Config) else Config.from_data(env.model_dump(by_alias=True))
    if config.kwargs:
        own = ", ".join(f"env.{n}" for n in Config.model_fields if n not in EnvConfig.model_fields)
        raise UserError(f"{config.id} takes no env.kwargs; its settings are {own}")
    return config


@dataclass(frozen=True)
class _Plan:
    """What a config comes down to."""

    place: scenarios.Place
    skill: int
    keyboard: Keyboard
    tics: int
    """After which an episode is cut; 0: never."""


def _plan(config: Config) -> _Plan:
    """Everything that can be wrong with a config is found here."""
    package = scenarios.vizdoom()
    file = engine.load(scenarios.find(config.id).file)
    own = [button.name for button in file.get_available_buttons()]
    names = chosen(config.buttons, own, list(package.Button.__members__))
    limits = [config.tic_cap or file.get_episode_timeout()]
    if config.time_limit is not None:  # in decisions, as everywhere
        limits.append(config.time_limit * config.frame_skip)
    return _Plan(
        place=scenarios.place(config.id, config.wad, config.map),
        skill=config.skill or file.get_doom_skill(),
        keyboard=Keyboard(kind_of(config.actions, names), names),
        tics=min((limit for limit in limits if limit), default=0),
    )


def settings(env: EnvConfig) -> Mapping[str, Any]:
    """All that decides how a game is played and shown."""
    config = _own(env)
    plan = _plan(config)
    files = [plan.place.game, *([plan.place.extra] if plan.place.extra else [])]
    return {
        "skill": plan.skill,
        "wad": [f"{file.name}, {file.stat().st_size} bytes" for file in files],
        "map": plan.place.map.upper(),
        "frame_skip": config.frame_skip,
        "tic_cap": plan.tics,
        "buttons": plan.keyboard.buttons,
        "actions": plan.keyboard.kind,
        "resolution": config.resolution,
        "grey": config.grey,
        "size": config.look.shape[1:],
        "stack": config.stack,
        "variables": config.variables,
    }


def describe(env: EnvConfig) -> EnvInfo:
    config = _own(env)
    scenario, keyboard = scenarios.find(config.id), _plan(config).keyboard
    picture = f"last {config.stack} frames" if config.stack > 1 else "frame"
    return EnvInfo(
        description=scenario.description,
        action_names=keyboard.names(),
        observation_names=(picture, *config.variables),
        score_range=scenario.score_range,
        threshold=scenario.threshold,
        keys=keyboard.keys(),
    )


Observation = Pixels | dict[str, Any]
Step = tuple[Observation, float, bool, bool, dict[str, Any]]


class Doom(gym.Env[Observation, Any]):
    """One game. `reset(seed=…)` reseeds its random stream, `reset()` continues it.

    Every episode gets its seed from that stream. When the game is over there is no frame any
    more (P25), so the last observation of a terminated episode is the one before; episodes that
    are cut show what there is to see at that point.
    """

    def __init__(self, config: Config, render_mode: str | None = None) -> None:
        plan = _plan(config)
        own = numbers.resolve(config.variables)
        read = list(dict.fromkeys([*numbers.resolve(list(numbers.NUMBERS)), *own]))
        lens = Lens(config.look, needs_colour=render_mode is not None)
        self.metadata = {
            "render_modes": ["rgb_array"],
            "render_fps": max(1, TICS_PER_S // config.frame_skip),
        }
        self.render_mode = render_mode
        self.spec = _limited(config, plan.tics)
        self.engine = engine.Engine(
            engine.Setup(
                config=scenarios.find(config.id).file,
                place=plan.place,
                skill=plan.skill,
                buttons=plan.keyboard.buttons,
                variables=tuple(read),
                resolution=config.resolution,
                screen=lens.format,
            )
        )
        self._press = plan.keyboard.press
        self._picture = lens.picture
        self._skip, self._limit = config.frame_skip, plan.tics
        self._names = tuple(numbers.NUMBERS)
        self._variables = [read.index(variable) for variable in own]
        self._tics = 0
        self._screen: Pixels = np.zeros((*config.look.screen, 3), np.uint8)
        self._stack: Pixels = np.zeros((config.stack, *config.look.shape), np.uint8)
        self._whole = (config.stack * config.look.shape[0], *config.look.shape[1:])
        self.action_space: Space = plan.keyboard.space()
        self.observation_space: Space = self._space(len(config.variables))

    def _space(self, variables: int) -> Space:
        picture = gs.Box(0, 255, self._whole, np.uint8)
        if not variables:
            return picture
        return gs.Dict(
            {"picture": picture, "variables": gs.Box(-np.inf, np.inf, (variables,), np.float32)}
        )

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, object] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        # ViZDoom goes through the same numbers in every episode unless it is given a new seed
        self.engine.begin(int(self.np_random.integers(SEEDS)), forget=seed is not None)
        self._tics = 0
        self._screen, values = self.engine.look()
        self._stack[:] = self._picture(self._screen)
        return self._observation(values), self._info(values)

    def step(self, action: object) -> Step:
        tics = self._skip
        if self._limit:
            tics = min(tics, self._limit - self._tics)
        reward = self.engine.act(self._press(action), tics)
        self._tics += tics
        is_over = self.engine.is_over()
        if is_over:
            values = self.engine.read()
        else:
            self._screen, values = self.engine.look()
            self._stack[:-1] = self._stack[1:]
            self._stack[-1] = self._picture(self._screen)
        is_cut = not is_over and self._tics == self._limit
        return self._observation(values), reward, is_over, is_cut, self._info(values)

    def _observation(self, values: list[float]) -> Observation:
        picture = self._stack.reshape(self._whole).copy()
        if not self._variables:
            return picture
        shown = np.array([values[index] for index in self._variables], np.float32)
        return {"picture": picture, "variables": shown}

    def _info(self, values: list[float]) -> dict[str, object]:
        reported = dict(zip(self._names, values, strict=False))
        reported["tics"] = float(self._tics)
        return {numbers.ALL: reported, **{name: reported[name] for name in numbers.REPORTED}}

    def render(self) -> Pixels | None:
        return self._screen if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        self.engine.close()


def _limited(config: Config, tics: int) -> EnvSpec:
    """Says how long an episode can be, where something ends it for sure."""
    decisions = -(-tics // config.frame_skip) or None
    return replace(_spec(config.id), max_episode_steps=decisions)
