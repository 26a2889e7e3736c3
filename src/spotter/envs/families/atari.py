"""Atari games of the Arcade Learning Environment (`ALE/Pong-v5`). Needs `spotter-rl[atari]`.

An env shows images, the console's memory or the things in it (`env.observe`), and holds each
action for a few frames. The images are those of ale-py's own vector environment, which
`envs/backends/native.py` runs: both start and end episodes alike and turn the same seeds and
actions into the same numbers, so a policy trained there is evaluated, filmed and played here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, NamedTuple, Self

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces as gs
from pydantic import Field, model_validator

from spotter import plugins
from spotter.config import EnvConfig, Whole
from spotter.envs.base import Env
from spotter.envs.games.ale import objects
from spotter.envs.games.ale.cartridge import BUTTON, NOTHING, SEEDS, Cartridge, cartridge, console
from spotter.envs.games.ale.chance import below, stream
from spotter.envs.games.ale.views import COLOURS, Array, Memory, Pictures, View
from spotter.envs.replay import Layers
from spotter.types import EnvInfo, UserError

_FRAMES_PER_S: Final = 60
_PICTURES: Final = 4
_LIFE_LOSS: Final = "life_loss"


class Config(EnvConfig):
    """How a game is played and shown; a frame is a sixtieth of a second of the console's time."""

    training_only: ClassVar[tuple[str, ...]] = (_LIFE_LOSS,)
    chance: ClassVar[Mapping[str, Any]] = {"sticky": 0.0, "noops": 0}

    observe: Literal["rgb", "ram", "objects"] = Field(
        "rgb",
        description=(
            "rgb: images; ram: the console's 128 bytes; objects: positions, velocities and "
            "visibility of what moves, and the last action."
        ),
    )
    frame_skip: Whole = Field(4, ge=1, description="Frames each action is held for.")
    pool: bool = Field(
        True, description="Show the brighter of the last two frames: some things flicker."
    )
    sticky: float = Field(
        0.25, ge=0, le=1, description="How often a frame repeats the action before instead."
    )
    noops: Whole = Field(
        30, ge=0, description="An episode begins after 0 to so many idle frames, drawn at random."
    )
    fire: bool | Literal["lives"] = Field(
        True,
        description=(
            "Press the button once before an episode, where a game has it; lives: and in the "
            "first decision after each lost life."
        ),
    )
    life_loss: bool = Field(
        False, description="A lost life ends an episode for the learner, never for the score."
    )
    frame_cap: Whole = Field(108_000, ge=1, description="Truncate episodes after so many frames.")
    grey: bool = Field(True, description="Grayscale frames; false: in colour.")
    size: tuple[Whole, Whole] | None = Field(
        (84, 84), strict=False, description="[height, width] of frames; null: as on the screen."
    )
    stack: Whole | None = Field(
        None,
        ge=1,
        le=1000,
        description="Frames in the stack; null: 4 for images, 1 for everything else.",
    )
    full_actions: bool = Field(
        False, description="All 18 actions, with those that do nothing here masked."
    )
    noop_action: bool = Field(True, description="Whether doing nothing is one of the actions.")
    mode: Whole | None = Field(None, ge=0, description="The game's own variants; null: its usual.")
    difficulty: Whole | None = Field(None, ge=0, description="null: the game's usual one.")

    @model_validator(mode="after")
    def _said_once(self) -> Self:
        if self.kwargs:
            name = next(iter(self.kwargs))
            known = set(Config.model_fields) - set(EnvConfig.model_fields)
            hint = plugins.did_you_mean(name, known) or "; see `spotter help envs/atari`"
            raise ValueError(
                f"`kwargs` must be empty: Atari settings have names of their own, such as "
                f"env.sticky; `{name}` is none{hint}"
            )
        if any(wrapper.name == _LIFE_LOSS for wrapper in self.wrappers):
            raise ValueError("the wrapper life_loss is `life_loss: true` in this family")
        if self.size is not None and not 0 < self._channels < self.size[1]:
            raise ValueError(f"`size` must be wider than the {self._channels} frames in a stack")
        return self

    @property
    def depth(self) -> int:
        return self.stack or (_PICTURES if self.observe == "rgb" else 1)

    @property
    def _channels(self) -> int:
        return self.depth * (1 if self.grey else COLOURS)

    @property
    def decisions(self) -> int:
        """The most an episode can have."""
        return -(-self.cap // self.frame_skip)

    @property
    def cap(self) -> int:
        """Frames after which an episode is cut."""
        decisions = self.time_limit
        limit = self.frame_cap if decisions is None else decisions * self.frame_skip
        return min(self.frame_cap, limit)


def own(env: EnvConfig) -> Config:
    """The settings of this family; those of a plain config are the defaults."""
    return env if isinstance(env, Config) else Config.from_data(env.model_dump(by_alias=True))


class Actions(NamedTuple):
    """What a policy chooses from."""

    names: tuple[str, ...]
    mask: npt.NDArray[np.bool_] | None
    """Those that can be chosen, where it is not all of them."""


def actions(config: Config) -> Actions:
    game = cartridge(config.id)
    useful = [name for name in game.useful_actions if config.noop_action or name != NOTHING]
    if not config.full_actions:
        return Actions(tuple(useful), None)
    return Actions(game.all_actions, np.isin(game.all_actions, useful))


def settings(env: EnvConfig) -> Mapping[str, Any]:
    """All that decides what a score means, in numbers and words."""
    config = own(env)
    fields = [*set(Config.model_fields) - set(EnvConfig.model_fields)]
    chosen = {name: vars(config)[name] for name in sorted(fields)}
    return {
        **chosen,
        "game": cartridge(config.id).name,
        "frame_cap": config.cap,
        "stack": config.depth,
        "actions": actions(config).names,
    }


def register() -> None:
    """Make the ids known to Gymnasium."""
    plugins.require("ale_py", extra="atari")


def make(env: EnvConfig, render: bool = False) -> Env:
    config = own(env)
    _check(config, cartridge(config.id))
    return Atari(config, render)


def _check(config: Config, game: Cartridge) -> None:
    for name, known in (("mode", game.modes), ("difficulty", game.difficulties)):
        value = vars(config)[name]
        if value is not None and value not in known:
            has = ", ".join(map(str, known))
            raise UserError(f"{config.id} has no env.{name} {value}; it has {has}")
    if config.observe == "objects" and game.name not in objects.TABLES:
        raise UserError(
            f"env.observe: objects knows {' and '.join(objects.TABLES)}, not {game.name}; "
            "use ram or rgb, or add a table to envs/games/ale/objects.py"
        )


class Atari(gym.Env[Array, Any]):
    """One game as ale-py's vector environment plays it."""

    def __init__(self, config: Config, render: bool = False) -> None:
        ale_py = plugins.require("ale_py", extra="atari")
        game, (names, mask) = cartridge(config.id), actions(config)
        self.ale = console(ale_py)
        self.ale.setFloat("repeat_action_probability", config.sticky)
        self.spec = replace(gym.spec(config.id), max_episode_steps=config.decisions)
        self.metadata = {
            "render_modes": ["rgb_array"],
            "render_fps": _FRAMES_PER_S / config.frame_skip,
        }
        self.render_mode = "rgb_array" if render else None
        self._config, self._game = config, game
        self._skip, self._cap = config.frame_skip, config.cap
        self._fires = config.fire == "lives" and presses_button(config)
        self._codes = [ale_py.Action.__members__[name] for name in names]
        self._idle, self._button = ale_py.Action.NOOP, ale_py.Action.FIRE
        self._presses = presses_button(config)
        self._state_of = ale_py.ALEState
        self._mask = mask
        self._view = _view(self.ale, config, game, len(names))
        self.observation_space = _stacked(self._view.space, config.depth)
        self.action_space = gs.Discrete(len(names))
        self._stack: Array = np.zeros(self.observation_space.shape, self.observation_space.dtype)
        self._frames = self._lives = 0
        self._lost_life = False
        self._noops = stream(int(np.random.default_rng().integers(SEEDS)))
        self._end: bytes | None = None
        """The console at the end of an episode: its random stream runs on into the next one."""
        self._parts = Layers([self, self._view])

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, object] | None = None
    ) -> tuple[Array, dict[str, object]]:
        super().reset(seed=seed)
        ale = self.ale
        if seed is not None:
            self._noops = stream(seed % SEEDS)
        self._switch_on(seed)
        ale.reset_game()
        if self._presses:
            ale.act(self._button)
        for _ in range(below(self._noops, self._config.noops + 1) - self._presses):
            ale.act(self._idle)
            if ale.game_over():
                ale.reset_game()
        self._frames, self._lost_life = 0, False
        self._stack[:] = 0
        self._view.begin()
        return self._show(None), self._info()

    def _switch_on(self, seed: int | None) -> None:
        """What happens next depends on the seed, else on plain attributes: see envs/replay.py."""
        ale, config = self.ale, self._config
        if seed is None and self._end is not None:
            ale.restoreState(self._state_of(self._end))
        else:
            number = below(self._noops, SEEDS) if seed is None else seed % SEEDS
            ale.setInt("random_seed", number)
            ale.loadROM(self._game.rom)
            if config.mode is not None:
                ale.setMode(config.mode)
            if config.difficulty is not None:
                ale.setDifficulty(config.difficulty)
        self._end = None

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        ale, cap, see = self.ale, self._cap, self._view.see
        code, reward = self._codes[action], 0.0
        if self._fires and self._lost_life:
            code = self._button
        is_over = is_cut = False
        for left in range(self._skip - 1, -1, -1):
            reward += ale.act(code)
            self._frames += 1
            is_over = ale.game_over()
            is_cut = self._frames >= cap
            if is_over or is_cut:
                break  # the frames of a broken-off step are not looked at, in ale-py neither
            see(left)
        before = self._lives
        info = self._info()
        self._lost_life = self._lives < before
        if is_over or is_cut:
            self._end = ale.cloneState(include_rng=True).serialize()
        return self._show(int(action)), reward, is_over, is_cut and not is_over, info

    def save(self, chance: bool = True) -> dict[str, object]:
        """The present state, random streams included unless not asked for; `load` restores it.

        What the console draws (`render`) is right again after the next step.
        """
        console = self.ale.cloneState(include_rng=chance).serialize()
        parts = self._parts.snapshot()
        return {
            "console": console,
            "parts": parts if chance else [{**part, "streams": {}} for part in parts],
        }

    def load(self, moment: Mapping[str, Any]) -> None:
        self.ale.restoreState(self._state_of(moment["console"]))
        self._parts.put_back(moment["parts"])

    def leave(self) -> None:
        """The episode ends here for a reason of its player: the next one continues its chance."""
        self._end = self.ale.cloneState(include_rng=True).serialize()

    def render(self) -> Any:
        return self.ale.getScreenRGB()

    def _info(self) -> dict[str, object]:
        self._lives = self.ale.lives()
        info: dict[str, object] = {"lives": self._lives}
        return info if self._mask is None else {**info, "action_mask": self._mask}

    def _show(self, action: int | None) -> Array:
        """The newest frame below the older ones."""
        moment = self._view.moment(action)
        if len(moment) == len(self._stack):
            return np.array(moment, order="C")
        self._stack[: -len(moment)] = self._stack[len(moment) :]
        self._stack[-len(moment) :] = moment
        return self._stack.copy()


def presses_button(config: Config) -> bool:
    return bool(config.fire) and BUTTON in cartridge(config.id).useful_actions


def picture_size(config: Config) -> tuple[int, int]:
    return config.size or cartridge(config.id).screen


def _view(ale: object, config: Config, game: Cartridge, choices: int) -> View:
    if config.observe == "ram":
        return Memory(ale, game.memory)
    if config.observe == "objects":
        return objects.Objects(ale, objects.TABLES[game.name], choices)
    size = picture_size(config)
    return Pictures(ale, game.screen, size, grey=config.grey, pool=config.pool)


def _stacked(space: gs.Box, depth: int) -> gs.Box:
    low, high = (np.concatenate([bound] * depth) for bound in (space.low, space.high))
    return gs.Box(low, high, dtype=space.dtype.type)


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
    "breakout": _Known(
        "Break two walls of bricks with a ball and five lives.", (0.0, 864.0), 400.0
    ),
    "boxing": _Known("Hit the other boxer; 100 points ahead is a knock-out.", (-100.0, 100.0)),
    "freeway": _Known("Get a chicken across ten lanes of traffic.", (0.0, 34.0)),
    "tennis": _Known("A set of tennis.", (-24.0, 24.0)),
}
_KEYS: Final = {"UP": "up", "DOWN": "down", "LEFT": "left", "RIGHT": "right", "FIRE": "space"}


def describe(env: EnvConfig) -> EnvInfo:
    config = own(env)
    name = cartridge(config.id).name
    known = _GAMES.get(name, _Known(f"The Atari game {name.replace('_', ' ').title()}."))
    codes = actions(config).names
    names = tuple(code.lower() for code in codes)
    return EnvInfo(
        description=known.description,
        action_names=names,
        observation_names=_observation_names(config, names),
        score_range=known.score_range,
        threshold=known.threshold,
        keys={key: codes.index(word) for word, key in _KEYS.items() if word in codes},
    )


def _ago(decisions: int) -> str:
    if not decisions:
        return ""
    return f", {decisions} decision{'s' if decisions > 1 else ''} ago"


def _observation_names(config: Config, actions: tuple[str, ...]) -> tuple[str, ...]:
    """One per number of a vector; a stack of frames is one thing."""
    game = cartridge(config.id)
    if config.observe == "rgb":
        return (f"last {config.depth} frames" if config.depth > 1 else "frame",)
    if config.observe == "ram":
        names = [f"byte {address}" for address in range(game.memory)]
    elif game.name in objects.TABLES:
        names = objects.names(objects.TABLES[game.name], actions)
    else:
        return ()
    when = [_ago(back) for back in range(config.depth - 1, -1, -1)]
    return tuple(f"{name}{ago}" for ago in when for name in names)
