"""From an `EnvConfig` to stepping envs: the wrapper stack, and the back-end that runs it."""

import multiprocessing
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np
from gymnasium.error import Error
from gymnasium.wrappers import TimeLimit

from spotter import plugins
from spotter.config import EnvConfig, RewardConfig, SignalConfig
from spotter.envs import contract, demo, previous
from spotter.envs.backends import native, pool
from spotter.envs.backends.batch import vector as batch
from spotter.envs.backends.layout import Layout
from spotter.envs.backends.local import LocalVector
from spotter.envs.backends.process import ProcessVector
from spotter.envs.backends.slices import EnvInstance
from spotter.envs.backends.vector import VectorEnv
from spotter.envs.base import Env, family, registered_spec
from spotter.envs.drop import Drop
from spotter.envs.families import python
from spotter.envs.games.doom import threads
from spotter.envs.grade import Grade, random_action, try_out
from spotter.envs.meter import Meter
from spotter.envs.wrappers.life_loss import LifeLoss
from spotter.system import interrupts, machine

_TRIAL_STEPS: Final = 64
_COMPARED_STEPS: Final = 160  # enough for an episode of most games to end
_TRIAL_SEED: Final = 0
_PATIENCE_S: Final = 0.2
_agreements: Final[dict[str, bool]] = {}
_TALKING_S: Final = 600e-6  # what a step of all envs loses by sending to workers and waiting
_FROM_COUNT: Final = 32  # envs; fewer are better stepped together
UNLIMITED_CUT: Final = 10_000
"""Decisions after which evaluation cuts an episode that nothing else would ever end."""


@dataclass(frozen=True)
class EnvBuilder:
    """All that is needed to build an env, in any process."""

    env: EnvConfig
    signals: tuple[SignalConfig, ...] = ()
    training: bool = True
    render: bool = False

    def build(self) -> EnvInstance:
        """Bare environment, meter and signals, then wrappers from the innermost outwards."""
        interrupts.check()
        env = self.env if self.training else self.env.as_played()
        bare = family(env).make(env, self.render)
        contract.check_spaces(bare)
        meter = Meter(demo.wrapped(bare, env), self.signals)
        stack: Env = Drop(meter, env.drop) if env.drop else meter
        for config in env.wrappers:
            if self.training or not config.train_only:
                stack = plugins.load("wrappers", config.name).wrap(config, stack)
        if getattr(env, "life_loss", False):  # a setting of some families
            stack = LifeLoss(stack)
        if (seen := previous.of(env, stack.action_space)) is not None:
            stack = previous.WithPrevious(stack, seen)
        if not self.training and not _has_time_limit(meter):
            stack = TimeLimit(stack, max_episode_steps=UNLIMITED_CUT)
        return EnvInstance(stack, meter, use_mask=env.mask)


def layout_of(env: EnvConfig, reward: RewardConfig) -> Layout:
    """What training envs look like, from one that is made for it and closed."""
    with closing(EnvBuilder(env, reward.signals).build()) as instance:
        return Layout.of(instance)


def _has_time_limit(env: Env) -> bool:
    return env.spec is not None and env.spec.max_episode_steps is not None


class Backend(NamedTuple):
    """Which back-end steps the envs, and why."""

    name: str
    why: str


def choose_backend(
    env: EnvConfig,
    reward: RewardConfig | None = None,
    *,
    count: int | None = None,
    needs_whole_episodes: bool = False,
) -> Backend:
    """What `backend: auto` means here: the fastest of those that change no number.

    `needs_whole_episodes`: envs will have to wait for each other. EnvPool has its own versions of
    the games and cannot be resumed exactly, so it is only used when asked for.
    """
    # Scores are rewards of Gymnasium's own environments, whatever trained the policy.
    foreign = reward is None and env.backend in ("envpool", "native")
    if env.backend != "auto" and not foreign:
        return Backend(env.backend, "as configured")
    count = count or env.count
    if count > 1 and not batch.reason_against(env, reward):
        if _batch_agrees(env):
            return Backend("batch", "one computation for all envs, equal to single ones")
        return Backend("sync", "what batch computes is not what this Gymnasium does")
    if count > 1 and not threads.reason_against(env, reward):
        return Backend("native", "games in processes of their own, a thread per core for them")
    if reward is not None and not needs_whole_episodes and not native.reason_against(env, reward):
        return Backend("native", "the emulator's own threads")
    workers = min(machine.cores(), count // 2)  # each with two envs at least
    if workers > 1 and _can_spawn(env):
        cost = _step_cost_s(env, reward)
        if count * cost * (1 - 1 / workers) > _TALKING_S:
            return Backend("process", f"a step takes {cost * 1e6:.0f} µs, {workers} workers help")
    return Backend("sync", "steps are too short to share among processes")


def make_vector(
    env: EnvConfig,
    reward: RewardConfig | None = None,
    *,
    count: int | None = None,
    backend: str | None = None,
) -> VectorEnv:
    """Training envs when `reward` is given, evaluation envs (no signals) otherwise."""
    recipe = EnvBuilder(env, reward.signals if reward else (), training=reward is not None)
    count = count or env.count
    backend = backend or choose_backend(env, reward, count=count).name
    if backend == "batch":
        return batch.BatchVector(env, reward, count)
    if backend == "native" and not threads.reason_against(env, reward):
        return threads.thread_vector(recipe.build, count, env.restarts, env.timeout_s)
    if backend == "native":
        in_turns = reward is not None and count >= _FROM_COUNT and count % 2 == 0
        return native.NativeVector(env, reward, count, halves=2 if in_turns else 1)
    if backend == "envpool":
        return pool.PoolVector(env, reward, count)
    if backend == "process":
        workers = env.workers or machine.cores()
        return ProcessVector(recipe.build, count, workers, env.restarts, env.timeout_s)
    return LocalVector(recipe.build, count, env.restarts, env.timeout_s)


def _batch_agrees(env: EnvConfig) -> bool:
    """Whether `batch` does here, bit for bit, what a real env does: a few steps of both."""
    plain = env.model_copy(update={"wrappers": (), "demo": None})
    key = plain.model_dump_json(exclude={"count", "backend", "workers", "threshold"})
    if key not in _agreements:
        with (
            batch.BatchVector(plain, RewardConfig(), 1) as ours,
            LocalVector(EnvBuilder(plain).build, 1) as theirs,
        ):
            _agreements[key] = all(_same_steps(ours, theirs))
    return _agreements[key]


def _same_steps(ours: VectorEnv, theirs: VectorEnv) -> Iterator[bool]:
    draw = np.random.default_rng(0)
    for vector in (ours, theirs):
        vector.reset([_TRIAL_SEED])
    for _ in range(_COMPARED_STEPS):
        mask = theirs.buffers.mask
        action = random_action(theirs.spaces.action, draw, None if mask is None else mask[0])
        for vector in (ours, theirs):
            vector.step(action[None])
        a, b = ours.buffers, theirs.buffers
        yield all(np.array_equal(a.obs[path], b.obs[path]) for path in b.obs)
        yield bool((a.reward == b.reward).all() and (a.terminated == b.terminated).all())


def _can_spawn(env: EnvConfig) -> bool:
    """Whether workers can be started, and will know the environment."""
    if multiprocessing.current_process().daemon:
        return False
    if env.family in ("", "gymnasium") and not _is_importable(env):
        return False
    if env.family == "python" and not python.is_importable(env.id):
        return False
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if script is None:  # a notebook or a console: workers read nothing
        return not env.id.startswith(f"{python.MAIN}:")
    try:
        return "__main__" in Path(script).read_text(encoding="utf-8", errors="ignore")
    except OSError:
        return False


def _is_importable(env: EnvConfig) -> bool:
    """What a script or a notebook registers by itself exists in this process only."""
    try:
        maker = registered_spec(env).entry_point
    except (Error, ImportError):
        return False
    root = maker.split(".")[0].split(":")[0] if isinstance(maker, str) else ""
    return ":" in env.id or root in ("gymnasium", "spotter", "ale_py")


def _step_cost_s(env: EnvConfig, reward: RewardConfig | None) -> float:
    """Seconds per step of one env, measured; the process's own random streams are unchanged."""
    numbers, others = random.getstate(), np.random.get_state()
    instance = EnvBuilder(
        env, reward.signals if reward else (), training=reward is not None
    ).build()
    costs: list[float] = []
    try:
        instance.env.reset(seed=_TRIAL_SEED)
        instance.env.action_space.seed(_TRIAL_SEED)
        while len(costs) < _TRIAL_STEPS and sum(costs) < _PATIENCE_S:
            action = instance.env.action_space.sample()
            began = perf_counter()
            _, _, terminated, truncated, _ = instance.env.step(action)
            costs.append(perf_counter() - began)
            if terminated or truncated:
                instance.env.reset()
    except Exception:  # building the envs for training will report what is wrong with them
        return 0.0
    finally:
        instance.close()
        random.setstate(numbers)
        np.random.set_state(others)
    return float(np.median(costs))


def resume_grade(env: EnvConfig, reward: RewardConfig, backend: str = "sync") -> Grade:
    """Whether envs can be restored to the state in a checkpoint, by trying."""
    in_threads = backend == "native" and not threads.reason_against(env, reward)
    if backend in ("native", "envpool") and not in_threads:
        return Grade("episode boundary", f"{backend} envs cannot be restored within an episode")
    return try_out(EnvBuilder(env, reward.signals).build, env.id)


def check_envs_differ(env: EnvConfig, seeds: Sequence[int], steps: int = 24) -> str | None:
    """A warning when differently seeded envs give the same data under the same actions."""
    if len(seeds) < 2:
        return None
    recipe = EnvBuilder(env)
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
        f"{env.id} behaves the same under every seed: its {len(seeds)} envs differ only "
        "through the policy's own sampling (more envs add less data than they seem to)"
    )


def _same_start(first: Env, second: Env, seeds: Sequence[int | None]) -> bool:
    return _equal(first.reset(seed=seeds[0])[0], second.reset(seed=seeds[1])[0])


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return all(_equal(x, y) for x, y in zip(a, b, strict=True))
    return np.array_equal(a, b)
