"""REINFORCE (Williams, 1992): whole episodes, Monte-Carlo returns, one gradient step.

Every env plays the same number of complete episodes per update, so short episodes are not
over-represented. With `baseline: value` a time limit is bootstrapped like everywhere else;
without a critic there is nothing to bootstrap from and a truncated return is just its sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from spotter.config import AlgoConfig, Whole, Work
from spotter.metrics.spec import MetricSpec
from spotter.schedules import Schedule, constant, values_at, within

if TYPE_CHECKING:
    from spotter.collect.collector import Collector
    from spotter.engines.losses import Evaluated, Objective
    from spotter.policy.actor_critic import Policy
    from spotter.rollouts.rollout import Batch, Rollout
    from spotter.types import Numbers, Progress

METRICS: tuple[MetricSpec, ...] = ()


class Config(AlgoConfig):
    """Settings of REINFORCE."""

    needs_whole_episodes: ClassVar[bool] = True
    trains_trunks: ClassVar[bool] = True

    name: Literal["reinforce"] = "reinforce"
    lr: Annotated[Schedule, within(0)] = Field(constant(1e-2), description="Learning rate.")
    episodes: Whole = Field(1, ge=1, description="Complete episodes per env and update.")
    returns: Literal["to_go", "episode"] = Field(
        "to_go", description="Credit a step with what followed, or with the whole episode."
    )
    baseline: Literal["none", "mean", "value"] = Field(
        "mean", description="Subtracted from returns: nothing, their mean, or a learnt value."
    )
    normalize_returns: bool = Field(
        True, description="Divide by the standard deviation (the baseline handles the mean)."
    )
    value_weight: Annotated[Schedule, within(0)] = Field(
        constant(0.5), description="Weight of the value loss."
    )

    @property
    def baseline_used(self) -> Literal["value", "mean", "none"]:
        return self.baseline

    @property
    def credit(self) -> Literal["to_go", "episode"]:
        return self.returns

    def work(self, count: int) -> Work:
        # an episode has a step at least
        return Work(self.episodes, count * self.episodes, setting="algo.episodes")


def collect(config: Config, collector: Collector, progress: Progress) -> Rollout:
    return collector.collect_episodes(config.episodes, progress)


def make(config: Config, policy: Policy, seed: int) -> Reinforce:
    return Reinforce(config, policy)


class Reinforce:
    """The plain policy gradient, with a choice of baselines."""

    def __init__(self, config: Config, policy: Policy) -> None:
        from spotter.engines.learner import make_learner

        self.config = config
        self.policy = policy
        self.learner = make_learner(policy, config)
        self.optimizer = self.learner.optimizer

    def retune(self, config: Config) -> None:
        self.config = self.optimizer.config = config

    def state(self) -> dict[str, object]:
        return {"optimizer": self.optimizer.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.optimizer.restore(state["optimizer"])

    def objective(self, said: Evaluated, batch: Batch, now: Mapping[str, float]) -> Objective:
        """−E[(G − b) log π] − c₂ E[H]; with a learnt baseline, + c₁ E[½ (V − G)²]."""
        maths, value = self.learner.maths, None
        advantage = self._advantage(batch.advantage, said.raw_value)
        if self.config.baseline == "value":
            value = maths.value_loss(said.raw_value, batch.target)
        found: Objective = maths.objective(
            maths.policy_gradient(said.log_prob, advantage),
            value,
            said.entropy,
            value_weight=now["value_weight"],
            entropy_weight=now["entropy"],
            metrics=maths.moments(advantage=advantage),
        )
        return found

    def update(self, rollout: Rollout, progress: Progress) -> dict[str, float]:
        config, learner, maths = self.config, self.learner, self.learner.maths
        read = learner.read(rollout)
        returns = self._returns(read, config.gamma.at(progress))
        batch = read.flatten(returns, returns)
        self.policy.observe_returns(batch.target)
        samples = learner.prepare(batch)
        self.optimizer.set_rates(progress)

        now = values_at(config, ("value_weight", "entropy"), progress)
        metrics = learner.single_step(self.objective, samples, now, progress)
        metrics |= learner.diagnostics(batch, samples)
        report: dict[str, float] = maths.numbers(metrics)
        return report

    def _returns(self, rollout: Rollout[Numbers], gamma: float) -> Numbers:
        maths = self.learner.maths
        bootstrap = rollout.next_value * (self.config.baseline == "value")
        ends = rollout.episode_end
        returns: Numbers = maths.discounted_returns(rollout.reward, bootstrap, ends, gamma)
        if self.config.returns == "episode":
            returns = maths.episode_returns(returns, ends)
        return returns

    def _advantage(self, returns: Numbers, raw_value: Numbers) -> Numbers:
        advantage = returns
        if self.config.baseline == "value":
            advantage = returns - self.learner.restored(raw_value)
        elif self.config.baseline == "mean":
            advantage = returns - returns.mean()
        if self.config.normalize_returns and len(returns) > 1:
            advantage = advantage / (self.learner.maths.std(advantage) + 1e-8)
        return advantage
