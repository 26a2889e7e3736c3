"""The vector environment a package brings itself: ale-py's, with its own threads, for Atari.

It resets in the same step and hands over true last observations, so it meets the contract of
`vector.py` by itself; here its numbers are laid into our buffers and its episodes counted.
It cannot let single envs stand still, cannot be replayed, and supports frames but no wrappers.

With `halves=2` the envs form two groups that run by themselves: while one group plays, the other
can be answered (`send(0, …)`, `send(1, …)`, `recv(0)`, …).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
from gymnasium import spaces as gs

from spotter import plugins
from spotter.config import EnvConfig, RewardConfig
from spotter.envs.backends.buffers import Bools, Buffers
from spotter.envs.backends.layout import Layout, assemble
from spotter.envs.backends.logbook import UNKNOWN
from spotter.envs.backends.slices import EnvError
from spotter.envs.backends.vector import Note
from spotter.envs.families import atari
from spotter.envs.games.ale.cartridge import NOTHING, SEEDS, cartridge
from spotter.envs.games.ale.views import COLOURS
from spotter.envs.signals import Kind
from spotter.envs.spaces import describe
from spotter.system import machine
from spotter.types import Array, Episode, Fault, ReplayLog, UserError

_FAMILY: Final = "atari"


def reason_against(env: EnvConfig, reward: RewardConfig | None) -> str:
    """Why this config cannot run here, as a clause; empty when it can."""
    if env.family != _FAMILY:
        return f"{env.id} brings no vector environment that resets in the same step"
    if not plugins.findable("ale_py"):
        return "ale-py is not installed"
    if env.drop:
        return "env.drop is for Dict observations"
    if env.demo is not None and reward is not None:
        return "env.demo begins episodes of single envs"
    if env.shows_previous:
        return f"env.{env.shows_previous} works on single envs"
    training = reward is not None
    for wrapper in env.wrappers:
        if training or not wrapper.train_only:
            return f"the wrapper {wrapper.name} works on single envs"
    if reward is not None and reward.signals:
        return f"the reward signal {reward.signals[0].name} reads single envs"
    return _reason_against_settings(atari.own(env))


def _reason_against_settings(config: atari.Config) -> str:
    if config.observe != "rgb":
        return f"env.observe: {config.observe} reads the memory of single envs"
    for name in ("mode", "difficulty"):
        if vars(config)[name] is not None:
            return f"env.{name} can be set in single envs only"
    if config.fire == "lives":
        return "env.fire: lives presses the button of single envs"
    return ""


class NativeVector:
    """Atari games in ale-py's threads."""

    def __init__(
        self, env: EnvConfig, reward: RewardConfig | None, count: int, *, halves: int = 1
    ) -> None:
        reason = reason_against(env, reward)
        if reason:
            raise UserError(f"env.backend: native cannot run this: {reason}; use sync")
        assert halves in (1, 2) and count % halves == 0
        self.count = count
        self.halves = halves
        self.signal_kinds: tuple[Kind, ...] = ()
        self.note: Note | None = None
        config = atari.own(env)
        self._loses_lives = config.life_loss and reward is not None
        each = count // halves
        self._groups = [_make(config, each, self._loses_lives) for _ in range(halves)]
        names, mask = atari.actions(config)
        self._first = int(NOTHING not in names)
        """What the first action is to the emulator, which can always do nothing."""
        mask = mask if config.mask else None
        self.spaces = describe(_space(config), gs.Discrete(len(names)))
        fields = Layout(self.spaces, (), has_mask=mask is not None).fields(count)
        self.buffers = assemble({k: np.zeros(shape, dtype) for k, (shape, dtype) in fields.items()})
        if self.buffers.mask is not None:
            self.buffers.mask[:] = mask
        self.depths: Mapping[str, int] = {"obs": config.depth} if config.depth > 1 else {}
        """Leaves that are stacks of the latest frames, and of how many."""
        self._obs = _as_shown(self.buffers.obs["obs"], config)
        self._final_obs = _as_shown(self.buffers.final_obs["obs"], config)
        self.rows = [slice(half * each, (half + 1) * each) for half in range(halves)]
        self._score = np.zeros(count)
        self._length = np.zeros(count, np.int64)
        self._frame = np.zeros(count, np.int64)

    def reset(self, seeds: Sequence[int]) -> Buffers:
        assert len(seeds) == self.count
        numbers = np.array([int(seed) % SEEDS for seed in seeds])
        for rows, group in zip(self.rows, self._groups, strict=True):
            obs, info = group.reset(seed=numbers[rows])
            self._show_start(rows, obs, info)
        return self.buffers

    def _show_start(self, rows: slice, obs: Any, info: dict[str, Any]) -> None:
        buffers = self.buffers
        self._obs[rows] = obs
        buffers.reward[rows] = 0.0
        buffers.terminated[rows] = buffers.truncated[rows] = False
        self._score[rows] = self._length[rows] = 0
        self._frame[rows] = info["episode_frame_number"]

    def step(self, action: Array, active: Bools | None = None) -> list[Episode]:
        if active is not None and not active.all():
            raise UserError(
                "env.backend: native steps all envs together, but this algorithm lets envs "
                "wait for each other; use env.backend: sync"
            )
        for half, rows in enumerate(self.rows):
            self.send(half, action[rows])
        return [episode for half in range(self.halves) for episode in self.recv(half)]

    def send(self, half: int, action: Array) -> None:
        """Let a group play on; its rows of the buffers keep their values until `recv`."""
        rows = self.rows[half]
        self.buffers.action[rows] = action
        self._groups[half].send(self.buffers.action[rows] + self._first)

    def recv(self, half: int) -> list[Episode]:
        """Wait for a group and lay its step into the buffers."""
        try:
            obs, reward, terminated, truncated, info = self._groups[half].recv()
        except Exception as error:
            raise EnvError(f"ale-py failed: {type(error).__name__}: {error}") from error
        rows, buffers = self.rows[half], self.buffers
        self._obs[rows] = obs
        buffers.reward[rows] = reward
        buffers.terminated[rows] = terminated
        buffers.truncated[rows] = truncated
        self._score[rows] += reward
        self._length[rows] += 1
        ended = terminated | truncated
        if ended.any():
            return self._end(rows, obs, ended, info)
        self._frame[rows] = info["episode_frame_number"]
        return []

    def _end(
        self, rows: slice, obs: npt.NDArray[Any], ended: Bools, info: dict[str, Any]
    ) -> list[Episode]:
        """Some of a group's rows ended; after a lost life the frame counter runs on."""
        frame = info["episode_frame_number"]
        runs_on = ended & (frame > self._frame[rows]) & self._loses_lives
        begun = ended & ~runs_on
        final = self._final_obs[rows]
        final[runs_on] = obs[runs_on]
        episodes = []
        for row in np.flatnonzero(begun):
            final[row] = info["final_obs"][row]
            episodes.append(self._episode(rows.start + int(row)))
        self._frame[rows] = frame
        return episodes

    def _episode(self, row: int) -> Episode:
        score, length = float(self._score[row]), int(self._length[row])
        self._score[row] = self._length[row] = 0
        return Episode(
            env=row,
            score=score,
            length=length,
            terminated=bool(self.buffers.terminated[row]),
            reward=score,
        )

    def replay_logs(self) -> list[ReplayLog]:
        """The emulators' states are out of reach."""
        return [UNKNOWN] * self.count

    def replay(self, replay_logs: Sequence[ReplayLog]) -> Bools:
        """Every env begins a new episode."""
        for rows, group in zip(self.rows, self._groups, strict=True):
            obs, info = group.reset()
            self._show_start(rows, obs, info)
        return np.zeros(self.count, np.bool_)

    def take_faults(self) -> list[Fault]:
        return []

    def close(self) -> None:
        for group in self._groups:
            group.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _space(config: atari.Config) -> gs.Box[Any]:
    channels = config.depth * (1 if config.grey else COLOURS)
    return gs.Box(0, 255, (channels, *atari.picture_size(config)), np.uint8)


def _as_shown(leaf: Array, config: atari.Config) -> Array:
    """A view of [envs, channels, …] in ale-py's order, which has colours last."""
    if config.grey:
        return leaf
    count, _, *size = leaf.shape
    return np.moveaxis(leaf.reshape(count, config.depth, COLOURS, *size), 2, -1)


def _make(config: atari.Config, count: int, tells_lives: bool) -> Any:
    vector_env = plugins.require("ale_py.vector_env", extra="atari")
    height, width = atari.picture_size(config)
    return vector_env.AtariVectorEnv(
        cartridge(config.id).name,
        count,
        num_threads=min(count, machine.cores()),
        autoreset_mode="SameStep",
        reward_clipping=False,
        life_loss_info=tells_lives,
        frameskip=config.frame_skip,
        maxpool=config.pool,
        repeat_action_probability=config.sticky,
        noop_max=config.noops + 1,
        use_fire_reset=atari.presses_button(config),
        max_num_frames_per_episode=config.cap,
        grayscale=config.grey,
        img_height=height,
        img_width=width,
        stack_num=config.depth,
        full_action_space=config.full_actions,
    )
