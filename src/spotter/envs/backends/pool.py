"""EnvPool: environments rewritten in C++ and stepped by its own threads. Needs `spotter-rl[fast]`.

EnvPool by itself shows the last observation of an episode and resets in the next step, and calls an
episode truncated that ends on its last allowed step for whatever reason. Neither happens here: its
time limits are switched off, steps are counted by us, and envs whose episode ended are reset by
their number within the same step, after their last observation has been kept. Envs that are not
`active` are not stepped at all.

Only environments that do what Gymnasium's do are in `SAME`; `tests/envs/backends/test_pool.py`
shows it for each. Every env has its own stream of random numbers, other ones than Gymnasium's under
the same seed; an env cannot be replayed from a replay log.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from spotter import plugins
from spotter.config import EnvConfig, RewardConfig
from spotter.envs.backends.buffers import Bools, Buffers, floats
from spotter.envs.backends.layout import Layout, assemble
from spotter.envs.backends.logbook import UNKNOWN, next_seed
from spotter.envs.backends.slices import EnvError
from spotter.envs.backends.vector import Note
from spotter.envs.base import Env, family
from spotter.envs.signals import Kind
from spotter.envs.spaces import ActionCodec, describe
from spotter.system import machine
from spotter.types import Array, Episode, Fault, ReplayLog, UserError

SAME: Final = {
    "CartPole-v1": 32,
    "MountainCar-v0": 32,
    "MountainCarContinuous-v0": 32,
    "Acrobot-v1": 16,
    "FrozenLake-v1": 32,
    "FrozenLake8x8-v1": 32,
    "CliffWalking-v1": 32,
    "LunarLander-v3": 8,
    "LunarLanderContinuous-v3": 8,
    "BipedalWalker-v3": 4,
}
"""Id -> envs that keep one thread busy long enough to be worth it."""
_NEVER: Final = 2**31 - 1  # steps
_SEEDS: Final = 2**31


def reason_against(env: EnvConfig, reward: RewardConfig | None) -> str:
    """Why this config cannot run here, as a clause; empty when it can."""
    if env.id not in SAME:
        return f"EnvPool has nothing that does the same as {env.id}"
    if not plugins.findable("envpool"):
        return f"EnvPool is not installed ({plugins.install('fast')})"
    if env.kwargs:
        return "env.kwargs are for Gymnasium's own version"
    if env.drop:
        return "env.drop is for Dict observations"
    if env.demo is not None and reward is not None:
        return "env.demo begins episodes of single envs"
    if env.shows_previous:
        return f"env.{env.shows_previous} works on single envs"
    for wrapper in env.wrappers:
        if reward is not None or not wrapper.train_only:
            return f"the wrapper {wrapper.name} works on single envs"
    if reward is not None and reward.signals:
        return f"the reward signal {reward.signals[0].name} reads single envs"
    return ""


class PoolVector:
    """Envs in EnvPool's threads."""

    def __init__(self, env: EnvConfig, reward: RewardConfig | None, count: int) -> None:
        reason = reason_against(env, reward)
        if reason:
            raise UserError(f"env.backend: envpool cannot run this: {reason}; use sync")
        single = family(env).make(env)
        self.count = count
        self.spaces = describe(single.observation_space, single.action_space)
        self._decode = ActionCodec(single.action_space).decode_batch
        self._limit = _limit(single)
        single.close()
        self.signal_kinds: tuple[Kind, ...] = ()
        self.note: Note | None = None
        self.halves = 1
        self.depths: Mapping[str, int] = {}
        fields = Layout(self.spaces, (), has_mask=False).fields(count)
        self.buffers = assemble({k: np.zeros(shape, dtype) for k, (shape, dtype) in fields.items()})
        self._env = env
        self._pool: Any = None  # made with its seeds, in `reset`
        self._seeds = [0] * count
        self._ids = np.arange(count, dtype=np.int32)
        self._score = np.zeros(count)
        self._length = np.zeros(count, np.int64)

    def reset(self, seeds: Sequence[int]) -> Buffers:
        """EnvPool takes seeds when it is made, so it is rebuilt."""
        assert len(seeds) == self.count
        self._seeds = [int(seed) % _SEEDS for seed in seeds]
        self._pool = _make(self._env, self.count, self._seeds)
        buffers = self.buffers
        self._begin(self._ids)
        buffers.reward[:] = 0.0
        buffers.terminated[:] = buffers.truncated[:] = False
        return buffers

    def _begin(self, ids: npt.NDArray[np.int32]) -> None:
        """New episodes for these envs, which continue with their own streams."""
        obs, info = self._pool.reset(ids)
        self.buffers.obs["obs"][info["env_id"]] = obs
        self._score[ids] = self._length[ids] = 0

    def step(self, action: Array, active: Bools | None = None) -> list[Episode]:
        assert self._pool is not None, "reset(seeds) comes first"
        buffers = self.buffers
        buffers.action[...] = action
        if active is None or active.all():
            obs, reward, over, _, _ = self._pool.step(self._decode(buffers.action), self._ids)
            buffers.obs["obs"][...] = obs
            buffers.reward[:], buffers.terminated[:] = reward, over
            self._length += 1
            np.greater_equal(self._length, self._limit, out=buffers.truncated)
        else:
            self._step_some(np.flatnonzero(active).astype(np.int32))
        self._score += buffers.reward
        buffers.truncated[buffers.terminated] = False
        self._check_finite()
        ended = buffers.terminated | buffers.truncated
        return self._end(np.flatnonzero(ended).astype(np.int32)) if ended.any() else []

    def _step_some(self, ids: npt.NDArray[np.int32]) -> None:
        """The others stay as they are and report nothing."""
        buffers = self.buffers
        buffers.reward[:] = 0.0
        buffers.terminated[:] = buffers.truncated[:] = False
        if not ids.size:
            return
        decoded = self._decode(buffers.action[ids])
        obs, reward, over, _, info = self._pool.step(decoded, ids)
        rows = info["env_id"]
        buffers.obs["obs"][rows] = obs
        buffers.reward[rows], buffers.terminated[rows] = reward, over
        self._length[rows] += 1
        buffers.truncated[rows] = self._length[rows] >= self._limit

    def _end(self, ids: npt.NDArray[np.int32]) -> list[Episode]:
        buffers = self.buffers
        buffers.final_obs["obs"][ids] = buffers.obs["obs"][ids]
        episodes = [
            Episode(
                env=row,
                score=float(self._score[row]),
                length=int(self._length[row]),
                terminated=bool(buffers.terminated[row]),
                reward=float(self._score[row]),
            )
            for row in ids.tolist()
        ]
        self._begin(ids)
        return episodes

    def _check_finite(self) -> None:
        leaves = [self.buffers.reward, *floats(self.buffers.obs).values()]
        for values in leaves:
            if not np.isfinite(values).all():
                row = int(np.argwhere(~np.isfinite(values))[0, 0])
                raise EnvError(
                    f"environment {row} (seed {self._seeds[row]}, {self._length[row]} steps "
                    f"into its episode) of EnvPool returned {values[row].tolist()}"
                )

    def replay_logs(self) -> list[ReplayLog]:
        """EnvPool's states are out of reach."""
        return [UNKNOWN] * self.count

    def replay(self, replay_logs: Sequence[ReplayLog]) -> Bools:
        """Every env begins a new episode, of a new stream where there was one."""
        self.reset([next_seed(seed) for seed in self._seeds])
        return np.zeros(self.count, np.bool_)

    def take_faults(self) -> list[Fault]:
        return []

    def close(self) -> None:
        self._pool = None  # its threads end with it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _limit(env: Env) -> int:
    limit = env.spec.max_episode_steps if env.spec is not None else None
    return _NEVER if limit is None else limit


def _make(env: EnvConfig, count: int, seeds: list[int]) -> object:
    envpool = plugins.require("envpool", extra="fast")
    threads = max(1, min(machine.cores(), count // SAME[env.id]))
    with warnings.catch_warnings():
        # about the precision of bounds that are not used; they are made when first asked for
        warnings.simplefilter("ignore")
        pool = envpool.make(
            env.id,
            env_type="gymnasium",
            num_envs=count,
            num_threads=threads,
            seed=seeds,
            max_episode_steps=_NEVER,
        )
        assert pool.observation_space is not None and pool.action_space is not None
    return pool
