"""Scoring a policy: fixed episodes on held-out seeds, raw score, statistics frozen.

The pipeline is the training pipeline minus train-only wrappers, signals and reward scaling. How
many episodes each copy plays is fixed in advance, so short episodes are not over-represented.
"""

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
import torch

from spotter import checkpoint, seeding
from spotter.config import RunConfig, validate
from spotter.config.overrides import merge
from spotter.envs.base import threshold
from spotter.envs.make import make_vector
from spotter.envs.vector import VectorEnv
from spotter.nets.actor_critic import Policy
from spotter.types import Episode, Evaluation

_MOST_COPIES = 32


class Evaluator:
    """Keeps its own copies of the environment; each run starts them from the same seeds."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._count = min(config.eval.episodes, _MOST_COPIES)
        self._vector: VectorEnv | None = None
        self.threshold = threshold(config.env)

    def run(
        self, policy: Policy, env_steps: int, seeds: Literal["eval", "test"] = "eval"
    ) -> Evaluation:
        """Score these weights; the same weights and seeds give the same scores."""
        config = self._config.eval
        if self._vector is None:  # only now: training starts sooner
            self._vector = make_vector(self._config.env, count=self._count)
        vector = self._vector
        quota = episodes_per_copy(config.episodes, self._count)
        device = next(policy.parameters()).device
        generator = torch.Generator(device=device)
        generator.manual_seed(seeding.integer(self._config.seed, f"{seeds} actions"))
        vector.reset(seeding.integers(self._config.seed, f"{seeds} envs", self._count))
        left = np.array(quota)
        finished: list[Episode] = []
        while left.any():
            buffers = vector.buffers
            obs = {path: torch.from_numpy(leaf).to(device) for path, leaf in buffers.obs.items()}
            mask = None if buffers.mask is None else torch.from_numpy(buffers.mask).to(device)
            acted = policy.act(obs, mask, generator, config.deterministic)
            episodes = vector.step(acted.action.cpu().numpy(), left > 0)
            for episode in episodes:
                left[episode.env] -= 1
            finished += episodes
        return Evaluation(
            env_steps=env_steps,
            scores=tuple(episode.score for episode in finished),
            lengths=tuple(episode.length for episode in finished),
            threshold=self.threshold,
            seeds=seeds,
            deterministic=config.deterministic,
        )

    def close(self) -> None:
        if self._vector is not None:
            self._vector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def episodes_per_copy(episodes: int, count: int) -> Sequence[int]:
    """Shares as equal as possible."""
    return [episodes // count + (i < episodes % count) for i in range(count)]


def play_again(selector: str, episodes: int | None = None) -> tuple[Evaluation, bool | None]:
    """Score a saved policy anew, and whether every episode equals what was written down.

    There is nothing to compare (None) if it was never scored, or with `episodes` of one's own,
    which are played on test seeds.
    """
    step = checkpoint.find(selector)
    config = checkpoint.read_config(step)
    written = checkpoint.read_score(step) if episodes is None else None
    if episodes is not None:
        config = validate(merge(config.as_data(), {"eval": {"episodes": episodes}}))
    with Evaluator(config) as evaluator:
        again = evaluator.run(checkpoint.load(selector), 0, written["seeds"] if written else "test")
    return again, None if written is None else list(again.scores) == written["scores"]
