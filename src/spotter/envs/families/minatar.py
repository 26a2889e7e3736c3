"""MinAtar: five Atari games on a board of 10×10 (`MinAtar/Breakout`). Needs `spotter-rl[minatar]`.

The package's own Gymnasium interface loads matplotlib and seaborn (two seconds), carries a sticky
action over into the next episode, even into one with a new seed, and draws frames of floats. So
its games are run by the thin environment below: the same boards, rewards and random numbers, each
episode beginning with nothing pressed. A board is [10, 10, channels], 255 where a thing is; the
policy sees it channels first.
"""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Self

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces as gs
from pydantic import Field, model_validator

from spotter import plugins
from spotter.config import EnvConfig
from spotter.envs.base import Env, make_registered
from spotter.envs.spaces import Space
from spotter.types import EnvInfo, UserError

EXAMPLE: Final = "MinAtar/Breakout"
SEEDS: Final = 2**32
"""The games' random streams take seeds below this."""
ACTIONS: Final = ("noop", "left", "up", "right", "down", "fire")
_KEYS: Final = {"left": "left", "up": "up", "right": "right", "down": "down", "fire": "space"}
Picture = npt.NDArray[np.uint8]


class Config(EnvConfig):
    """Settings of a game."""

    sticky: float = Field(
        0.1, ge=0, le=1, description="How often a game repeats the previous action instead."
    )
    difficulty_ramping: bool = Field(
        True, description="Games get harder over time; no effect in Breakout and Freeway."
    )
    full_actions: bool = Field(
        False, description="All six actions, with those that do nothing here masked."
    )

    @model_validator(mode="after")
    def _no_kwargs(self) -> Self:
        if self.kwargs:
            own = Config.model_fields.keys() - EnvConfig.model_fields.keys()
            names = ", ".join(f"env.{name}" for name in sorted(own))
            raise ValueError(f"`kwargs` must be empty: the settings of MinAtar are {names}")
        return self


@dataclass(frozen=True)
class _Known:
    """What there is to say about a game, and the file that holds it."""

    file: str
    description: str
    threshold: float | None = None
    """There is no standard for when these games are solved; ours: docs/envs/minatar.md."""
    score_range: tuple[float, float] | None = None
    is_timed: bool = False
    """Its only end is a clock that the board does not show: a time limit."""


_GAMES: Final = {
    "MinAtar/Asterix": _Known(
        "asterix", "Collect gold and avoid enemies that come from both sides, faster and faster.",
        threshold=10.0,
    ),
    "MinAtar/Breakout": _Known(
        "breakout", "Break three rows of bricks with a ball, again and again; one ball only.",
        threshold=30.0,
    ),
    "MinAtar/Freeway": _Known(
        "freeway", "Get a chicken across eight lanes of traffic, as often as time allows.",
        score_range=(0.0, 92.0), is_timed=True,
    ),
    "MinAtar/Seaquest": _Known(
        "seaquest", "Shoot fish and submarines, rescue divers, and surface before the air is gone."
    ),
    "MinAtar/SpaceInvaders": _Known(
        "space_invaders", "Shoot the aliens before they land, and keep out of their fire.",
        threshold=72.0,
    ),
}  # fmt: skip
IDS: Final = tuple(_GAMES)


def make(env: EnvConfig, render: bool = False) -> Env:
    config = _own(env)
    known = _known(config)
    _module(known.file)  # its own sentence is better than a failed constructor's
    register()
    settings = {
        "sticky": config.sticky,
        "difficulty_ramping": config.difficulty_ramping,
        "full_actions": config.full_actions,
    }
    bare = EnvConfig(id=config.id, kwargs=settings, time_limit=config.time_limit)
    return make_registered(bare, render)


def register() -> None:
    """Make the ids known to Gymnasium; done by `make`, so that workers need nothing else."""
    for env_id, known in _GAMES.items():
        if env_id not in gym.registry:
            kwargs = {"file": known.file, "is_timed": known.is_timed}
            gym.register(
                id=env_id, entry_point="spotter.envs.families.minatar:Board", kwargs=kwargs
            )


def settings(env: EnvConfig) -> Mapping[str, Any]:
    """All that decides how a game is played."""
    config = _own(env)
    return {
        "sticky": config.sticky,
        "difficulty_ramping": config.difficulty_ramping,
        "actions": [ACTIONS[code] for code in _codes(config)],
    }


def describe(env: EnvConfig) -> EnvInfo:
    config = _own(env)
    known = _known(config)
    register()
    names = [ACTIONS[code] for code in _codes(config)]
    channels = list(_module(known.file).Env().channels)
    return EnvInfo(
        description=known.description,
        action_names=tuple(names),
        observation_names=(f"board: {', '.join(channels).replace('_', ' ')}",),
        score_range=known.score_range,
        threshold=known.threshold,
        keys={key: names.index(word) for word, key in _KEYS.items() if word in names},
    )


def _own(env: EnvConfig) -> Config:
    return env if isinstance(env, Config) else Config.from_data(env.model_dump(by_alias=True))


def _known(config: Config) -> _Known:
    if config.id not in _GAMES:
        raise UserError(
            f"unknown environment '{config.id}'{plugins.did_you_mean(config.id, _GAMES)}"
        )
    return _GAMES[config.id]


def _codes(config: Config) -> list[int]:
    """Which of the six actions there are."""
    if config.full_actions:
        return list(range(len(ACTIONS)))
    codes: list[int] = _module(_known(config).file).Env().minimal_action_set()
    return codes


@cache
def _module(file: str) -> ModuleType:
    """A game's file, read without the package around it, which would load what draws charts."""
    package = importlib.util.find_spec("minatar")
    if package is None:
        plugins.require("minatar", extra="minatar")
    assert package is not None and package.submodule_search_locations
    path = Path(package.submodule_search_locations[0]) / "environments" / f"{file}.py"
    spec = importlib.util.spec_from_file_location(f"minatar.environments.{file}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Board(gym.Env[Picture, int]):
    """One game. `reset(seed=…)` reseeds its random stream, `reset()` continues it."""

    metadata: dict[str, object] = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(
        self,
        file: str,
        is_timed: bool = False,
        sticky: float = 0.1,
        difficulty_ramping: bool = True,
        full_actions: bool = False,
        render_mode: str | None = None,
    ) -> None:
        self.game: Any = _module(file).Env(ramping=difficulty_ramping)
        self.random: np.random.RandomState = self.game.random
        self.sticky = sticky
        self.last_code = 0
        self.render_mode = render_mode
        self._is_timed = is_timed
        useful: list[int] = self.game.minimal_action_set()
        self._codes = list(range(len(ACTIONS))) if full_actions else useful
        self._mask = np.isin(self._codes, useful) if full_actions else None
        self.action_space: Space = gs.Discrete(len(self._codes))
        self.observation_space: Space = gs.Box(0, 255, tuple(self.game.state_shape()), np.uint8)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, object] | None = None
    ) -> tuple[Picture, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.random = self.game.random = np.random.RandomState(seed % SEEDS)
        self.last_code = 0
        self.game.reset()
        return self._show(), self._info()

    def step(self, action: int) -> tuple[Picture, float, bool, bool, dict[str, Any]]:
        repeats = self.random.rand() < self.sticky
        code = self.last_code if repeats else self._codes[action]
        self.last_code = code
        reward, is_over = self.game.act(code)
        timed = self._is_timed
        return self._show(), float(reward), is_over and not timed, is_over and timed, self._info()

    def _show(self) -> Picture:
        board: Picture = self.game.state().view(np.uint8) * np.uint8(255)
        return board

    def _info(self) -> dict[str, object]:
        return {} if self._mask is None else {"action_mask": self._mask}

    def render(self) -> Picture | None:
        return draw(self._show()) if self.render_mode == "rgb_array" else None


_SIDE: Final = 16  # screen pixels per cell
_COLOURS: Final = np.array(
    [
        *((16, 18, 24), (240, 240, 240), (228, 87, 86), (110, 116, 130), (245, 190, 65)),
        *((90, 160, 230), (110, 195, 110), (200, 120, 210), (235, 140, 60), (80, 200, 200)),
        (160, 130, 90),
    ],
    np.uint8,
)


def draw(board: Picture) -> Picture:
    """Cells in the colour of the last channel that has something there, as MinAtar shows them."""
    order = np.arange(1, board.shape[2] + 1)
    cells: Picture = _COLOURS[((board > 0) * order).max(axis=2)]
    return cells.repeat(_SIDE, axis=0).repeat(_SIDE, axis=1)
