"""Scoring a policy: fixed episodes on held-out seeds, raw score, statistics frozen.

The pipeline is the training pipeline minus train-only wrappers, signals and reward scaling. How
many episodes each copy plays is fixed in advance, so short episodes are not over-represented.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from time import perf_counter
from typing import Any, Final, Literal, Self

import numpy as np
import torch

from spotter import checkpoint, seeding
from spotter.config import EnvConfig, RunConfig, validate
from spotter.config.overrides import merge
from spotter.envs.base import threshold
from spotter.envs.make import make_vector
from spotter.envs.slices import Buffers
from spotter.envs.vector import VectorEnv
from spotter.fast.network import choose_engine, twin
from spotter.nets.actor_critic import Policy
from spotter.types import Array, Episode, Evaluation, Spaces
from spotter.versions import versions

_MOST_COPIES = 32
# What the score does not depend on: how copies are run, and what counts as solved.
_NOT_THE_GAME = {"count", "backend", "workers", "threshold", "restarts", "timeout_s"}

Seeds = Literal["eval", "test"]
_SEEDS: Final[tuple[Seeds, ...]] = ("eval", "test")


class Stopped(Exception):  # noqa: N818  # not an error: somebody asked
    """An evaluation was abandoned."""


class Evaluator:
    """Keeps its own copies of the environment; each run starts them from the same seeds."""

    def __init__(self, config: RunConfig, stop: Callable[[], bool] = lambda: False) -> None:
        self._config = config
        self._stop = stop
        self._count = min(config.eval.episodes, _MOST_COPIES)
        self._vector: VectorEnv | None = None
        self.threshold = threshold(config.env)

    def run(self, policy: Policy, env_steps: int, seeds: Seeds = "eval") -> Evaluation:
        """Score these weights; the same weights and seeds give the same scores.

        Raises `Stopped` when asked to stop meanwhile.
        """
        began = perf_counter()
        config = self._config.eval
        if self._vector is None:  # only now: training starts sooner
            self._vector = make_vector(self._config.env, count=self._count)
        env_seeds = seeding.integers(self._config.seed, f"{seeds} envs", self._count)
        finished, actions = self._play(self._vector, policy, env_seeds, f"{seeds} actions")
        return Evaluation(
            env_steps=env_steps,
            scores=tuple(episode.score for episode in finished),
            lengths=tuple(episode.length for episode in finished),
            threshold=self.threshold,
            seeds=seeds,
            deterministic=config.deterministic,
            fingerprint=fingerprint(self._config.env, self._vector.spaces),
            versions={**versions(), "engine": choose_engine(policy).name},
            first_seeds=tuple(env_seeds),
            first_actions=actions,
            seconds=perf_counter() - began,
            faults=tuple(self._vector.take_faults()),
        )

    def _play(
        self, vector: VectorEnv, policy: Policy, env_seeds: Sequence[int], stream: str
    ) -> tuple[list[Episode], tuple[Array, ...]]:
        config = self._config.eval
        act = _actor(policy, seeding.integer(self._config.seed, stream), config.deterministic)
        vector.reset(env_seeds)
        left = np.array(episodes_per_copy(config.episodes, self._count))
        first = _FirstEpisodes(self._count)
        finished: list[Episode] = []
        while left.any():
            if self._stop():
                raise Stopped
            buffers = vector.buffers
            action = act(buffers)
            episodes = vector.step(action, left > 0)
            first.note(action, episodes, buffers.lost)
            for episode in episodes:
                left[episode.env] -= 1
            finished += episodes
        return finished, first.actions()

    def close(self) -> None:
        if self._vector is not None:
            self._vector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _actor(policy: Policy, seed: int, deterministic: bool) -> Callable[[Buffers], Array]:
    """From what copies show to what they shall do, by the policy's own engine."""
    device = next(policy.parameters()).device
    generator = torch.Generator(device=device).manual_seed(seed)
    network = twin(policy)

    def act(buffers: Buffers) -> Array:
        if network is not None:
            x = network.inputs(buffers.obs)
            noise = None if deterministic else network.draw(1, len(x), generator)[0]
            return network.choose(x, buffers.mask, noise)
        obs = {path: torch.from_numpy(leaf).to(device) for path, leaf in buffers.obs.items()}
        mask = None if buffers.mask is None else torch.from_numpy(buffers.mask).to(device)
        action: Array = policy.act(obs, mask, generator, deterministic).action.cpu().numpy()
        return action

    return act


class _FirstEpisodes:
    """The actions of each copy's first episode; none for a copy that failed in it."""

    def __init__(self, count: int) -> None:
        self._steps: list[Array] = []
        self._lengths: list[int | None] = [None] * count
        self._open = count

    def note(self, action: Array, episodes: Sequence[Episode], lost: Array) -> None:
        if not self._open:
            return
        self._steps.append(action)
        for copy in np.flatnonzero(lost).tolist():
            self._close(copy, 0)
        for episode in episodes:
            self._close(episode.env, len(self._steps))

    def _close(self, copy: int, length: int) -> None:
        if self._lengths[copy] is None:
            self._lengths[copy] = length
            self._open -= 1

    def actions(self) -> tuple[Array, ...]:
        steps = np.array(self._steps)
        return tuple(steps[:length, copy] for copy, length in enumerate(self._lengths))


def episodes_per_copy(episodes: int, count: int) -> Sequence[int]:
    """Shares as equal as possible."""
    return [episodes // count + (i < episodes % count) for i in range(count)]


def fingerprint(env: EnvConfig, spaces: Spaces) -> str:
    """The same for the same game: id, constructor, time limit, wrappers that count, spaces."""
    settings = env.model_dump(mode="json", exclude=_NOT_THE_GAME)
    settings["wrappers"] = [
        wrapper for wrapper in settings["wrappers"] if not wrapper["train_only"]
    ]
    shape = {
        "observation": {path: asdict(leaf) for path, leaf in spaces.observation.items()},
        "action": asdict(spaces.action),
    }
    text = json.dumps([settings, shape], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def play_again(selector: str, episodes: int | None = None) -> list[tuple[Evaluation, bool | None]]:
    """Score a saved policy anew, and whether every episode equals what was written down.

    Every certificate beside the weights is checked. There is nothing to compare (None) if they
    were never scored, or with `episodes` of one's own, which are played on test seeds.
    """
    step = checkpoint.find(selector)
    config, policy = checkpoint.read_config(step), checkpoint.load(selector)
    written = {} if episodes else checkpoint.read_scores(step)
    found: list[tuple[Evaluation, bool | None]] = []
    for seeds in _SEEDS:
        if seeds in written:
            # as it was scored: a resumed run may have gone on with other settings
            how = {key: written[seeds][key] for key in ("episodes", "deterministic")}
            again = _once(config, how, policy, seeds)
            found.append((again, list(again.scores) == written[seeds]["scores"]))
    return found or [(_once(config, {"episodes": episodes} if episodes else {}, policy), None)]


def _once(
    config: RunConfig, how: Mapping[str, Any], policy: Policy, seeds: Seeds = "test"
) -> Evaluation:
    with Evaluator(validate(merge(config.as_data(), {"eval": how}))) as evaluator:
        return evaluator.run(policy, 0, seeds)
