"""Envs, the policy that acts in them, and the collector: all that gathers rollouts.

Not for learning: a worker builds no algorithm and no optimizer, in whichever process it is.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from spotter import plugins, seeding
from spotter.collect.collector import Collector
from spotter.collect.rewards import RewardMixer
from spotter.config import RunConfig
from spotter.engines import rollout_actor
from spotter.envs.backends.vector import VectorEnv
from spotter.envs.make import choose_backend, make_vector
from spotter.policy.actor_critic import Policy
from spotter.rollouts.rollout import Rollout
from spotter.types import Episode, Progress, UserError


class Gathered(NamedTuple):
    """A rollout, and what happened while it was collected."""

    rollout: Rollout
    progress: Progress
    """When it was begun."""
    env_steps: int
    vector_steps: int
    episodes: tuple[Episode, ...]
    seconds: dict[str, float]
    weights: dict[str, float] = {}  # noqa: RUF012 - of a tuple, never written to
    """Of reward parts, by name."""

    def as_data(self) -> dict[str, object]:
        """What a checkpoint or another process can take."""
        plain = self._asdict() | {"rollout": self.rollout.as_data()}
        plain["progress"] = asdict(self.progress)
        plain["episodes"] = [asdict(episode) for episode in self.episodes]
        return plain

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Gathered":
        rollout, progress = Rollout.from_data(data["rollout"]), Progress(**data["progress"])
        episodes = tuple(Episode(**episode) for episode in data["episodes"])
        return cls(**{**data, "rollout": rollout, "progress": progress, "episodes": episodes})


class RolloutWorker:
    """Gathers rollouts with `policy`; closes `vector` when it is closed."""

    def __init__(
        self,
        config: RunConfig,
        vector: VectorEnv,
        policy: Policy,
        after_env_steps: int = 0,
        buffers: int = 1,
    ) -> None:
        """`after_env_steps`: where a resumed run continues; new episodes get seeds of their own."""
        self.vector = vector
        self._algo = config.algo
        self._collect = _collect_of(config.algo.name)
        stream = f"train envs after {after_env_steps}" if after_env_steps else "train envs"
        self.collector = Collector(
            vector,
            rollout_actor.make(policy, seeding.integer(config.seed, "train actions")),
            RewardMixer(config.reward, vector.signal_kinds, vector.count),
            config.algo.gamma,
            seeding.integers(config.seed, stream, vector.count),
            buffers=buffers,
            keeps_after=bool(config.reward.intrinsic) or config.policy.foresees,
        )

    def gather(self, progress: Progress) -> Gathered:
        """The rollout one update needs, as the algorithm asks for it."""
        collector = self.collector
        rollout = self._collect(self._algo, collector, progress)
        episodes, seconds = collector.take()
        steps = collector.env_steps, collector.vector_steps
        weights = collector.mixer.weights(progress)
        return Gathered(rollout, progress, *steps, episodes, seconds, weights)

    def retune(self, config: RunConfig) -> None:
        self._algo = config.algo
        self.collector.retune(config.algo.gamma, config.reward)

    def close(self) -> None:
        self.vector.close()


def _collect_of(algorithm: str) -> Callable[..., Rollout]:
    found: Callable[..., Rollout] | None = vars(plugins.load("algos", algorithm)).get("collect")
    if found is None:
        raise UserError(
            f"{algorithm}.py defines no collect(config, collector, progress) that gives a rollout"
        )
    return found


def make_envs(config: RunConfig) -> VectorEnv:
    """Training envs, in the back-end that suits the algorithm."""
    needs_whole_episodes = config.algo.needs_whole_episodes
    backend = choose_backend(config.env, config.reward, needs_whole_episodes=needs_whole_episodes)
    return make_vector(config.env, config.reward, backend=backend.name)
