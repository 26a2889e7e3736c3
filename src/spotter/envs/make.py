"""From an `EnvConfig` to stepping copies: the wrapper stack, and the back-end that runs it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from gymnasium.wrappers import TimeLimit

from spotter import plugins
from spotter.config import EnvConfig, RewardConfig, SignalConfig
from spotter.envs.base import Env, family
from spotter.envs.grade import Grade, try_out
from spotter.envs.meter import Meter
from spotter.envs.process import ProcessVector
from spotter.envs.slices import Copy
from spotter.envs.vector import SyncVector, VectorEnv

UNLIMITED_CUT: Final = 10_000
"""Decisions after which evaluation cuts an episode that nothing else would ever end."""


@dataclass(frozen=True)
class Recipe:
    """All that is needed to build a copy, in any process."""

    env: EnvConfig
    signals: tuple[SignalConfig, ...] = ()
    training: bool = True
    render: bool = False

    def build(self) -> Copy:
        """Bare environment, meter and signals, then wrappers from the innermost outwards."""
        meter = Meter(family(self.env).make(self.env, self.render), self.signals)
        stack: Env = meter
        for config in self.env.wrappers:
            if self.training or not config.train_only:
                stack = plugins.load("wrappers", config.name).wrap(config, stack)
        if not self.training and not _has_time_limit(meter):
            stack = TimeLimit(stack, max_episode_steps=UNLIMITED_CUT)
        return Copy(stack, meter, use_mask=self.env.mask)


def _has_time_limit(env: Env) -> bool:
    return env.spec is not None and env.spec.max_episode_steps is not None


def make_vector(
    env: EnvConfig, reward: RewardConfig | None = None, *, count: int | None = None
) -> VectorEnv:
    """Training copies when `reward` is given, evaluation copies (no signals) otherwise."""
    recipe = Recipe(env, reward.signals if reward else (), training=reward is not None)
    count = count or env.count
    if env.backend == "process":
        workers = env.workers or os.cpu_count() or 1
        return ProcessVector(recipe.build, count, workers, env.restarts, env.timeout_s)
    return SyncVector(recipe.build, count, env.restarts, env.timeout_s)


def resume_grade(env: EnvConfig, reward: RewardConfig) -> Grade:
    """Whether copies can be brought back to where a checkpoint found them, by trying."""
    return try_out(Recipe(env, reward.signals).build, env.id)


def check_copies_differ(env: EnvConfig, seeds: Sequence[int], steps: int = 24) -> str | None:
    """A warning when differently seeded copies give the same data under the same actions."""
    if len(seeds) < 2:
        return None
    recipe = Recipe(env)
    first, second = recipe.build().env, recipe.build().env
    try:
        if not _same_start(first, second, seeds):
            return None
        first.action_space.seed(0)
        for _ in range(steps):
            action = first.action_space.sample()
            a, b = first.step(action), second.step(action)
            if not _equal(a[0], b[0]) or a[1] != b[1]:
                return None
            ended = a[2] or a[3] or b[2] or b[3]
            if ended and not _same_start(first, second, (None, None)):
                return None
    finally:
        first.close()
        second.close()
    return (
        f"{env.id} behaves the same under every seed: its {len(seeds)} copies differ only "
        "through the policy's own sampling (more copies add less than they seem to)"
    )


def _same_start(first: Env, second: Env, seeds: Sequence[int | None]) -> bool:
    return _equal(first.reset(seed=seeds[0])[0], second.reset(seed=seeds[1])[0])


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return all(_equal(x, y) for x, y in zip(a, b, strict=True))
    return np.array_equal(a, b)
