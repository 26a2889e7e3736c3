"""Two back-ends side by side: what they deliver must be the same bytes."""

import json
from typing import Any

import numpy as np

from spotter import packing
from spotter.config import EnvConfig, RewardConfig
from spotter.envs.backends.batch.vector import BatchVector
from spotter.envs.backends.local import LocalVector
from spotter.envs.backends.vector import VectorEnv
from spotter.envs.grade import random_action
from spotter.envs.make import EnvBuilder
from spotter.types import Episode, ReplayLog

FAMILIES = {
    **dict.fromkeys(("CartPole", "MountainCar", "Acrobot", "Pendulum"), "classic"),
    **dict.fromkeys(("FrozenLake", "CliffWalking", "Taxi"), "toy_text"),
    "Bandit": "bandit",
    "LunarLander": "box2d",
}


def config(env_id: str, kwargs: dict[str, Any] | None = None, **fields: Any) -> EnvConfig:
    family = next(family for start, family in FAMILIES.items() if env_id.startswith(start))
    return EnvConfig(**{"id": env_id, "family": family, "kwargs": kwargs or {}, **fields})


def sync(env: EnvConfig, count: int, training: bool = True) -> LocalVector:
    return LocalVector(EnvBuilder(env, training=training).build, count)


def batch(env: EnvConfig, count: int, training: bool = True) -> BatchVector:
    return BatchVector(env, RewardConfig() if training else None, count)


class Player:
    """Mostly does what brings each game to an end, otherwise what comes to mind."""

    def __init__(self, env: EnvConfig, seed: int = 0) -> None:
        self._draw = np.random.default_rng(seed)
        self._is_car = env.id.startswith("MountainCar")
        self._is_acrobot = env.id.startswith("Acrobot")

    def act(self, vector: VectorEnv) -> np.ndarray:
        mask, spec = vector.buffers.mask, vector.spaces.action
        rows = range(vector.count)
        chosen = np.array(
            [random_action(spec, self._draw, None if mask is None else mask[row]) for row in rows]
        )
        if self._is_car or self._is_acrobot:
            way = np.sign(vector.buffers.obs["obs"][:, 1 if self._is_car else 5])
            with_it = self._draw.random(vector.count) < 0.9
            if spec.kind == "box":
                return np.where(with_it, way * np.abs(chosen[:, 0]), chosen[:, 0])[:, None]
            chosen = np.where(with_it, way + 1, chosen)
        return chosen

    def rest(self, count: int) -> np.ndarray:
        active = self._draw.random(count) < 0.6
        active[self._draw.integers(count)] = True
        return active


def assert_same(first: VectorEnv, second: VectorEnv) -> None:
    a, b = first.buffers, second.buffers
    assert _bytes(a.obs) == _bytes(b.obs)
    assert a.reward.tobytes() == b.reward.tobytes()
    assert a.terminated.tolist() == b.terminated.tolist()
    assert a.truncated.tolist() == b.truncated.tolist()
    assert a.lost.tolist() == b.lost.tolist()
    ended = a.terminated | a.truncated
    for path, leaf in a.final_obs.items():
        assert leaf[ended].tobytes() == b.final_obs[path][ended].tobytes()
    assert (a.mask is None) == (b.mask is None)
    assert a.mask is None or (a.mask == b.mask).all()


def _bytes(obs: Any) -> dict[str, bytes]:
    return {path: leaf.tobytes() for path, leaf in obs.items()}


def step_both(
    first: VectorEnv, second: VectorEnv, player: Player, steps: int, rest: bool = False
) -> list[Episode]:
    """The same actions into both; all that comes out is compared after every step."""
    episodes: list[Episode] = []
    for _ in range(steps):
        action = player.act(first)
        active = player.rest(first.count) if rest else None
        ended = first.step(action, active)
        assert second.step(action, active) == ended
        assert_same(first, second)
        episodes += ended
    return episodes


def written_and_read(replay_log: ReplayLog) -> ReplayLog:
    """What a checkpoint makes of a tape."""
    fields = {
        "start": replay_log.start,
        "seed": replay_log.seed,
        "actions": np.array(replay_log.actions),
    }
    data, arrays = packing.pack(fields)
    read = packing.unpack(json.loads(json.dumps(data)), arrays)
    return ReplayLog(read["start"], read["seed"], tuple(read["actions"]))
