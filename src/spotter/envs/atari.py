"""Atari games of the Arcade Learning Environment (`ALE/Pong-v5`). Needs `spotter[atari]`.

A copy shows the last four gray 84×84 pictures, [4, 84, 84] with the newest last, and holds each
action for four frames: what ale-py's own vector environment shows, which `envs/native.py` runs.
Both start and end episodes alike and turn the same seeds and actions into the same numbers, so a
policy trained there is evaluated, filmed and played here.

`env.kwargs` takes the names of ale-py's `AtariVectorEnv`, and `mode` and `difficulty`.
"""

from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Final

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces as gs

from spotter import plugins
from spotter.config import EnvConfig
from spotter.envs.base import Env, make_registered, registered_spec
from spotter.types import EnvInfo, UserError

SEEDS: Final = 2**31
"""The emulator takes seeds below this."""
SINGLE_ONLY: Final = ("mode", "difficulty")
"""Settings that ale-py's vector environment does not have."""
_LEAST: Final = {"noop_max": 0}
Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a game is played and shown; the names are those of ale-py's `AtariVectorEnv`."""

    repeat_action_probability: float
    full_action_space: bool
    frameskip: int
    max_num_frames_per_episode: int
    noop_max: int = 30
    """An episode begins after up to this many idle frames, less one."""
    use_fire_reset: bool = True
    """Press the button once before an episode, in games that have one."""
    stack_num: int = 4
    img_height: int = 84
    img_width: int = 84
    maxpool: bool = True
    """Show the brighter of the last two frames: some games draw things in every other one."""


def settings(env: EnvConfig) -> Settings:
    """What an id was registered with, changed by `env.kwargs` and `env.time_limit`."""
    registered = {**_spec(env).kwargs}
    del registered["game"]
    given = {name: value for name, value in env.kwargs.items() if name not in SINGLE_ONLY}
    known = [field.name for field in fields(Settings)]
    for name in given:
        if name not in known:
            hint = plugins.did_you_mean(name, [*known, *SINGLE_ONLY])
            raise UserError(f"{env.id} has no setting env.kwargs.{name}{hint}")
    chosen = Settings(**{**registered, **given})
    _check(env, chosen)
    if env.time_limit is None:
        return chosen
    frames = env.time_limit * chosen.frameskip
    return replace(chosen, max_num_frames_per_episode=frames)


def _check(env: EnvConfig, chosen: Settings) -> None:
    for field in fields(Settings):
        value, least = getattr(chosen, field.name), _LEAST.get(field.name, 1)
        if field.type is int and (type(value) is not int or value < least):
            raise UserError(
                f"{env.id}: env.kwargs.{field.name} must be a whole number from {least} up, "
                f"not {value!r}"
            )
    stickiness = chosen.repeat_action_probability
    if not isinstance(stickiness, int | float) or not 0 <= stickiness <= 1:
        raise UserError(
            f"{env.id}: env.kwargs.repeat_action_probability must be from 0 to 1, "
            f"not {stickiness!r}"
        )


def game(env: EnvConfig) -> str:
    """The name of its cartridge, such as `ms_pacman`."""
    return str(_spec(env).kwargs["game"])


def _spec(env: EnvConfig) -> Any:
    plugins.require("ale_py", extra="atari")
    try:
        spec = registered_spec(env)
    except gym.error.Error as error:
        games = [name for name in gym.registry if name.startswith("ALE/")]
        hint = plugins.did_you_mean(env.id, games)
        raise UserError(f"unknown environment '{env.id}'{hint}") from error
    return spec


def make(env: EnvConfig, render: bool = False) -> Env:
    plugins.require("cv2", extra="atari")
    chosen = settings(env)
    bare = EnvConfig(
        id=env.id,
        family=env.family,
        kwargs={
            **{name: env.kwargs[name] for name in SINGLE_ONLY if name in env.kwargs},
            "repeat_action_probability": chosen.repeat_action_probability,
            "full_action_space": chosen.full_action_space,
            "frameskip": 1,
        },
    )
    # without Gymnasium's guards: our reset talks to the emulator directly
    console = make_registered(bare, render).unwrapped
    assert console.spec is not None
    limit = chosen.max_num_frames_per_episode // chosen.frameskip
    console.spec = replace(console.spec, max_episode_steps=limit)
    return Atari(console, chosen)


class Atari(gym.Wrapper[Any, Any, Any, Any]):
    """One game as ale-py's vector environment plays and shows it."""

    def __init__(self, env: Env, chosen: Settings) -> None:
        import cv2

        super().__init__(env)
        self._resize, self._how = cv2.resize, cv2.INTER_AREA
        self._chosen = chosen
        self._ale: Any = env.unwrapped.ale  # type: ignore[attr-defined]
        self._actions: Any = env.unwrapped._action_set  # type: ignore[attr-defined]
        self._fire = next((action for action in self._actions if action.name == "FIRE"), None)
        self._fires = chosen.use_fire_reset and self._fire is not None
        screen = self._ale.getScreenDims()
        self._newest: Pixels = np.zeros(screen, np.uint8)
        self._older: Pixels = np.zeros(screen, np.uint8)
        shape = (chosen.stack_num, chosen.img_height, chosen.img_width)
        self._stack: Pixels = np.zeros(shape, np.uint8)
        self._frames = 0
        self._noops = _stream(int(np.random.default_rng().integers(SEEDS)))
        self.observation_space = gs.Box(0, 255, shape, np.uint8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Pixels, dict[str, Any]]:
        if seed is not None:
            self._noops = _stream(seed % SEEDS)
            self._ale.setInt("random_seed", seed % SEEDS)
            self.unwrapped.load_game()  # type: ignore[attr-defined]
        self._ale.reset_game()
        if self._fires:
            self._ale.act(self._fire)
        for _ in range(_below(self._noops, max(1, self._chosen.noop_max)) - self._fires):
            self._ale.act(0)
            if self._ale.game_over():
                self._ale.reset_game()
        self._frames = 0
        self._stack[:] = 0
        self._ale.getScreenGrayscale(self._newest)
        self._older[:] = 0
        return self._show(), {"lives": self._ale.lives()}

    def step(self, action: Any) -> tuple[Pixels, float, bool, bool, dict[str, Any]]:
        ale, chosen = self._ale, self._chosen
        code, reward = self._actions[action], 0.0
        is_over = is_cut = False
        for left in range(chosen.frameskip - 1, -1, -1):
            reward += ale.act(code)
            self._frames += 1
            is_over = ale.game_over()
            is_cut = self._frames >= chosen.max_num_frames_per_episode
            if is_over or is_cut:
                break  # the pictures of a broken-off step are not looked at, in ale-py neither
            if left < 2:
                ale.getScreenGrayscale(self._older if left else self._newest)
        return self._show(), reward, is_over, is_cut and not is_over, {"lives": ale.lives()}

    def _show(self) -> Pixels:
        if self._chosen.maxpool:
            np.maximum(self._newest, self._older, out=self._newest)
        size = (self._chosen.img_width, self._chosen.img_height)
        self._stack[:-1] = self._stack[1:]
        self._stack[-1] = self._resize(self._newest, size, interpolation=self._how)
        return self._stack.copy()


def _stream(seed: int) -> np.random.Generator:
    """The numbers C++ knows as `std::mt19937(seed)`."""
    bits = np.random.MT19937()
    state: Any = np.random.RandomState(seed).get_state(legacy=False)
    bits.state = state
    return np.random.Generator(bits)


def _below(stream: np.random.Generator, bound: int) -> int:
    """A number from 0 to `bound`, exclusive, drawn as GNU's C++ library does (Lemire, 2019).

    Other C++ libraries draw other numbers: there the same seed may begin with other idle frames.
    """
    if bound == 1:
        return 0
    while True:
        product = stream.bit_generator.random_raw() * bound
        if product % 2**32 >= 2**32 % bound:
            return int(product // 2**32)


@dataclass(frozen=True)
class _Known:
    """What there is to say about a game."""

    description: str
    score_range: tuple[float, float] | None = None
    threshold: float | None = None


_GAMES: Final = {
    "pong": _Known(
        "Table tennis against the computer; a point per rally, the first to reach 21 wins.",
        (-21.0, 21.0),
        18.0,
    ),
    "breakout": _Known("Break two walls of bricks with a ball and five lives.", (0.0, 864.0)),
    "boxing": _Known("Hit the other boxer; 100 points ahead is a knock-out.", (-100.0, 100.0)),
    "freeway": _Known("Get a chicken across ten lanes of traffic.", (0.0, 34.0)),
    "tennis": _Known("A set of tennis.", (-24.0, 24.0)),
}
_KEYS: Final = {"UP": "up", "DOWN": "down", "LEFT": "left", "RIGHT": "right", "FIRE": "space"}


def describe(env: EnvConfig) -> EnvInfo:
    name, chosen = game(env), settings(env)
    known = _GAMES.get(name, _Known(f"The Atari game {name.replace('_', ' ').title()}."))
    meanings = _meanings(name, chosen.full_action_space)
    return EnvInfo(
        description=known.description,
        action_names=tuple(meaning.lower() for meaning in meanings),
        observation_names=(f"last {chosen.stack_num} pictures",),
        score_range=known.score_range,
        threshold=known.threshold,
        keys={key: meanings.index(word) for word, key in _KEYS.items() if word in meanings},
    )


@cache
def _meanings(name: str, all_actions: bool) -> tuple[str, ...]:
    ale_py = plugins.require("ale_py", extra="atari")
    roms = plugins.require("ale_py.roms", extra="atari")
    ale = ale_py.ALEInterface()
    ale.setLoggerMode(ale_py.LoggerMode.Error)
    ale.loadROM(roms.get_rom_path(name))
    actions = ale.getLegalActionSet() if all_actions else ale.getMinimalActionSet()
    return tuple(action.name for action in actions)
