"""Console games through stable-retro: `Retro/Airstriker-Genesis`. Needs `spotter-rl[retro]`.

An env shows the last frames, [stack · channels, height, width] with the newest last; an action is
a combination of buttons, held for some frames. Each env's emulator runs in a process of its own
(stable-retro allows no more), so that any number of envs can train, be evaluated and be watched
side by side. The numbers stable-retro finds in a game's memory (lives, score, …) are its `info`.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import Annotated, Any, ClassVar, Final, Literal, Self

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs
from gymnasium.envs.registration import EnvSpec
from pydantic import AfterValidator, Field, model_validator

from spotter import plugins
from spotter.config import EnvConfig, Whole
from spotter.envs.base import Env
from spotter.envs.games.emulator import buttons, games
from spotter.envs.games.emulator.child import Cartridge
from spotter.envs.games.emulator.console import Console
from spotter.envs.games.emulator.picture import NO_EDGES, Look, Pixels
from spotter.envs.games.emulator.rules import Referee, Rules
from spotter.envs.spaces import Space
from spotter.types import EnvInfo, UserError

EXAMPLE: Final = "Retro/Airstriker-Genesis"
FRAMES_PER_S: Final = 60
_LEVEL_NAMES: Final = (("levelHi", "levelLo"), ("zone", "act"), ("level",), ("round",))


def _upper(combo: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(button.upper() for button in combo)


Combo = Annotated[tuple[str, ...], Field(strict=False), AfterValidator(_upper)]
Frames = Annotated[tuple[Whole, Whole], Field(strict=False)]
Margins = Annotated[tuple[Whole, Whole, Whole, Whole], Field(strict=False)]


class Config(EnvConfig):
    """Settings of a console game."""

    training_only: ClassVar[tuple[str, ...]] = ("sticky",)
    chance: ClassVar[Mapping[str, Any]] = {"sticky": 0.0, "noops": 0}

    state: str = Field(
        "",
        description="Where episodes begin: one of the game's states, a .state file, none (the "
        "console just switched on); empty: the game's default.",
    )
    scenario: str = Field("scenario", description="Scenario: rewards and end of the game.")
    folder: str = Field("", description="Games of your own, a folder each, beside stable-retro's.")
    actions: Literal["simple", "all"] | Annotated[tuple[Combo, ...], Field(strict=False)] = Field(
        "simple",
        description="simple: a few sensible combinations of buttons; all: every one there is; or "
        "your own, such as [[], [RIGHT], [RIGHT, A]].",
    )
    turbo: Combo = Field(
        (), description="Buttons released in the second half of each decision, to be pressed again."
    )
    frame_skip: Whole | Frames = Field(
        4, description="Frames per decision; [min, max] draws the number for each."
    )
    sticky: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="Chance in each frame that the last buttons stay pressed; training only.",
    )
    noops: Whole = Field(0, ge=0, description="An episode begins after up to so many idle frames.")
    pool: bool = Field(False, description="Show the brighter of the last two frames.")
    grey: bool = Field(True, description="Shades of grey instead of colours.")
    size: Annotated[tuple[Whole, Whole], Field(strict=False)] | None = Field(
        (84, 84), description="[height, width]; null: as the console draws."
    )
    fit: Literal["stretch", "letterbox"] = Field(
        "stretch", description="letterbox keeps proportions, between black bars."
    )
    crop: Margins = Field(NO_EDGES, description="Cut off: [top, bottom, left, right] in pixels.")
    hide: Margins = Field(NO_EDGES, description="Blacken: [top, bottom, left, right] in pixels.")
    stack: Whole = Field(4, ge=1, le=1000, description="Frames in the stack.")
    ends: Annotated[tuple[Literal["death", "level"], ...], Field(strict=False)] = Field(
        (), description="What else ends an episode: a lost life, a change of level."
    )
    stall: Whole | None = Field(
        None, ge=1, description="Cut episodes whose score has not grown for so many decisions."
    )
    frame_cap: Whole | None = Field(
        None, ge=1, description="Cut episodes after so many frames; null: never."
    )
    lives: str = Field("lives", description="The game's number for lives.")
    level: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        (), description="The game's numbers for the level, the larger unit first; empty: known."
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        low, high = self.frames
        if not 1 <= low <= high:
            raise ValueError("`frame_skip` is at least 1, or [min, max] with min up to max")
        if self.size is not None and min(self.size) < 1:
            raise ValueError("`size` is [height, width], each at least 1")
        if min(*self.crop, *self.hide) < 0:
            raise ValueError("`crop` and `hide` are numbers of pixels from 0 up")
        if self.actions == ():
            raise ValueError("`actions` needs at least one combination of buttons")
        return self

    @property
    def frames(self) -> tuple[int, int]:
        """Fewest and most frames of a decision."""
        skip = self.frame_skip
        return skip if isinstance(skip, tuple) else (skip, skip)

    @property
    def look(self) -> Look:
        return Look(grey=self.grey, size=self.size, fit=self.fit, crop=self.crop, hide=self.hide)


def register() -> None:
    """Make the ids known to Gymnasium; done on import, so that workers need nothing else."""
    for name in games.names():
        env_id = f"{games.NAMESPACE}{name}"
        if env_id not in gym.registry:  # not `gym.register`, which takes 20 times as long
            gym.registry[env_id] = _spec(env_id)


def _spec(env_id: str) -> EnvSpec:
    return EnvSpec(
        id=env_id, entry_point="spotter.envs.families.retro:open_game", kwargs={"id": env_id}
    )


def open_game(render_mode: str | None = None, **settings: object) -> Env:
    """What `gym.make` calls."""
    return make(Config.from_data({"family": "retro", **settings}), render_mode == "rgb_array")


register()


def make(env: EnvConfig, render: bool = False) -> Env:
    plugins.require("cv2", extra="retro")
    return Retro(_own(env), "rgb_array" if render else None)


def settings(env: EnvConfig) -> Mapping[str, Any]:
    """All that decides how a game is played and shown."""
    config = _own(env)
    game = games.find(config.id, config.folder)
    names = [name for name in Config.model_fields if name not in EnvConfig.model_fields]
    shown = {name: vars(config)[name] for name in names if name != "folder"}
    combos = buttons.combos(config.actions, game)
    return {
        **shown,
        "state": game.state(config.state),
        "actions": [buttons.name(combo) for combo in combos],
        "level": _level(config, game),
        "time_limit": config.time_limit,
    }


_KEYS: Final = ("up", "down", "left", "right")


def describe(env: EnvConfig) -> EnvInfo:
    config = _own(env)
    game = games.find(config.id, config.folder)
    names = tuple(buttons.name(combo) for combo in buttons.combos(config.actions, game))
    keys: dict[str, int] = {key: names.index(key) for key in _KEYS if key in names}
    presses = [name for name in names if "+" not in name and name not in (*_KEYS, "nothing")]
    letters = {name: names.index(name) for name in presses if len(name) == 1}
    space = {"space": names.index(presses[0])} if presses else {}
    title, _, console = game.name.rpartition("-")
    return EnvInfo(
        description=_GAMES.get(game.name, f"{title}, a game of the {console}."),
        action_names=names,
        observation_names=(f"last {config.stack} frames" if config.stack > 1 else "frame",),
        keys={**keys, **letters, **space},
    )


_GAMES: Final = {
    "Airstriker-Genesis": "Shoot down what comes from above, and keep out of its way; four lives.",
    "SuperMarioBros-Nes": "Run and jump to the right until the flag, before time runs out.",
}


def _own(env: EnvConfig) -> Config:
    config = env if isinstance(env, Config) else Config.from_data(env.model_dump(by_alias=True))
    if config.kwargs:
        own = ", ".join(f"env.{n}" for n in Config.model_fields if n not in EnvConfig.model_fields)
        raise UserError(f"{config.id} takes no env.kwargs; its settings are {own}")
    return config


def _level(config: Config, game: games.Game) -> tuple[str, ...]:
    """Which of a game's numbers say where in it one is, if that matters."""
    if config.level or "level" not in config.ends:
        return config.level if "level" in config.ends else ()
    there = set(game.variables())
    return next((names for names in _LEVEL_NAMES if there.issuperset(names)), ("level",))


def _rules(config: Config, game: games.Game) -> Rules:
    return Rules(
        lives=config.lives if "death" in config.ends else "",
        level=_level(config, game),
        stall=config.stall,
        decisions=config.time_limit,
        frames=config.frame_cap,
    )


def _check_variables(wanted: tuple[str, ...], setting: str, game: games.Game) -> None:
    there = game.variables()
    for name in wanted:
        if name not in there:
            hint = plugins.did_you_mean(name, there)
            raise UserError(f"{setting}: {game.id} has no number '{name}'{hint}")


def cartridge(config: Config, game: games.Game) -> Cartridge:
    """What a console needs to start; every mistake in a config is found here."""
    rom = game.rom()  # first: without it nothing else matters
    buttons.check(config.turbo, game, "env.turbo")
    rules = _rules(config, game)
    _check_variables((rules.lives,) if rules.lives else (), "env.lives", game)
    _check_variables(rules.level, "env.level", game)
    state = game.state(config.state)
    data = game.file("data.json")
    if data is None:
        raise UserError(f"{game.id} has no data.json, which says where its numbers are")
    return Cartridge(
        rom=rom,
        system=game.system(),
        data=data,
        scenario=game.scenario(config.scenario),
        state=game.state_file(state),
        level="" if state == games.POWER_ON else state,
        combos=((), *buttons.combos(config.actions, game)),
        turbo=config.turbo,
        pool=config.pool,
        look=config.look,
        timeout_s=ceil(config.timeout_s or 0),
    )


class Retro(gym.Env[Pixels, int]):
    """One game. `reset(seed=…)` reseeds its random stream, `reset()` continues it."""

    def __init__(self, config: Config, render_mode: str | None = None) -> None:
        game = games.find(config.id, config.folder)
        start = cartridge(config, game)
        self.metadata = {
            "render_modes": ["rgb_array"],
            "render_fps": max(1, 2 * FRAMES_PER_S // sum(config.frames)),
        }
        self.render_mode = render_mode
        self.spec = _limited(config)
        self.console = Console(start)
        self.config = config
        self._referee = Referee(_rules(config, game))
        shape = self._shape()
        self._stack: Pixels = np.zeros((config.stack, *shape), np.uint8)
        whole = (config.stack * shape[0], *shape[1:])
        if whole[0] >= whole[2]:
            self.close()
            raise UserError(f"env.size: {whole[0]} frames and colours need a width above that")
        self.observation_space: Space = gs.Box(0, 255, whole, np.uint8)
        self.action_space: Space = gs.Discrete(len(start.combos) - 1)
        self._held, self._is_first = 0, True

    def _shape(self) -> tuple[int, int, int]:
        look = self.config.look
        if look.size is not None and look.crop == NO_EDGES:
            return look.shape(look.size)  # the console is still booting
        try:
            shape = look.shape(self.console.screen_size())
        except BaseException:
            self.close()
            raise
        if min(shape) < 1:
            self.close()
            raise UserError(f"env.crop: {list(look.crop)} leaves nothing of the screen")
        return shape

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, object] | None = None
    ) -> tuple[Pixels, dict[str, Any]]:
        super().reset(seed=seed)
        idle = int(self.np_random.integers(self.config.noops + 1)) if self.config.noops else 0
        picture, info = self.console.reset(idle)
        self._stack[:] = self._pixels(picture)
        self._held, self._is_first = 0, True
        self._referee.start(info)
        return self._show(), info

    def step(self, action: int) -> tuple[Pixels, float, bool, bool, dict[str, Any]]:
        frames = self._draw_frames()
        late = self._draw_delay(frames)
        combo = int(action) + 1  # the first combination, nothing, is how episodes begin
        picture, reward, is_over, info, played = self.console.step(self._held, late, combo, frames)
        if late < frames:
            self._held = combo
        self._stack[:-1] = self._stack[1:]
        self._stack[-1] = self._pixels(picture)
        verdict = self._referee.judge(info, reward, played)
        info.update(verdict.info)
        is_over = is_over or verdict.over
        return self._show(), reward, is_over, verdict.cut and not is_over, info

    def _draw_frames(self) -> int:
        low, high = self.config.frames
        return low if low == high else int(self.np_random.integers(low, high + 1))

    def _draw_delay(self, frames: int) -> int:
        """How many frames the last buttons stay pressed: each of them with the same chance."""
        chance = self.config.sticky
        is_first, self._is_first = self._is_first, False
        if not chance or is_first:
            return 0
        return min(frames, int(self.np_random.geometric(1 - chance)) - 1)

    def _pixels(self, picture: bytes) -> Pixels:
        return np.frombuffer(picture, np.uint8).reshape(self._stack.shape[1:])

    def _show(self) -> Pixels:
        return self._stack.reshape(self.observation_space.shape).copy()

    def render(self) -> Pixels | None:
        return self.console.screen() if self.render_mode == "rgb_array" else None

    def save(self) -> dict[str, object]:
        """The present state, for `restore`; see emulator/faithful.py."""
        return {
            "console": self.console.save(),
            "stack": self._stack.copy(),
            "random": self.np_random.bit_generator.state,
            "referee": self._referee.save(),
            "buttons": (self._held, self._is_first),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        self.console.restore(saved["console"])
        self._stack[:] = saved["stack"]
        self.np_random.bit_generator.state = saved["random"]
        self._referee.restore(saved["referee"])
        self._held, self._is_first = saved["buttons"]

    def close(self) -> None:
        self.console.close()


def _limited(config: Config) -> EnvSpec:
    """Says how long an episode can be, where something ends it for sure."""
    limits = [] if config.time_limit is None else [config.time_limit]
    if config.frame_cap is not None:
        limits.append(ceil(config.frame_cap / config.frames[0]))
    return replace(_spec(config.id), max_episode_steps=min(limits) if limits else None)
