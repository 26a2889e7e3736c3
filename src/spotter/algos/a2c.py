"""Advantage actor-critic (Mnih et al., 2016), synchronous: one gradient step per short rollout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from spotter.config import AlgoConfig, Whole, Work
from spotter.metrics.spec import MetricSpec
from spotter.schedules import Schedule, constant, values_at, within

if TYPE_CHECKING:
    from spotter.collect.collector import Collector
    from spotter.engines.losses import Evaluated, Objective
    from spotter.policy.actor_critic import Policy
    from spotter.rollouts.rollout import Batch, Rollout
    from spotter.types import Progress

METRICS: tuple[MetricSpec, ...] = ()


class Config(AlgoConfig):
    """Settings of A2C."""

    model_config = ConfigDict(populate_by_name=True)

    adds_bonus: ClassVar[bool] = True
    trains_trunks: ClassVar[bool] = True
    name: Literal["a2c"] = "a2c"
    lr: Annotated[Schedule, within(0)] = Field(constant(7e-4), description="Learning rate.")
    optimizer: Literal["adam", "adamw", "rmsprop", "sgd"] = Field(
        "rmsprop", description="What turns gradients into changes of the weights."
    )
    steps: Whole = Field(5, ge=1, description="Vector steps per rollout.")
    lambda_: Annotated[Schedule, within(0, 1)] = Field(
        constant(1.0), alias="lambda", description="Of generalised advantage estimation."
    )
    value_weight: Annotated[Schedule, within(0)] = Field(
        constant(0.5), description="Weight of the value loss."
    )
    value_loss: Literal["mse", "huber"] = Field(
        "mse", description="Squared error, or linear beyond huber_delta."
    )
    huber_delta: float = Field(1.0, gt=0, description="Where huber turns linear.")
    normalize_advantage: bool = Field(
        False, description="Give the advantages of a rollout mean 0 and std 1."
    )

    def work(self, count: int) -> Work:
        return Work(self.steps, count * self.steps)


def collect(config: Config, collector: Collector, progress: Progress) -> Rollout:
    return collector.collect(config.steps, progress)


def make(config: Config, policy: Policy, seed: int) -> A2C:
    return A2C(config, policy)


class A2C:
    """Policy gradient with a learnt baseline on n-step advantages."""

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
        """−E[A log π] + c₁ E[½ (V − R)²] − c₂ E[H]."""
        maths, config = self.learner.maths, self.config
        found: Objective = maths.objective(
            maths.policy_gradient(said.log_prob, batch.advantage),
            maths.value_loss(
                said.raw_value,
                batch.target,
                huber_delta=config.huber_delta if config.value_loss == "huber" else None,
            ),
            said.entropy,
            value_weight=now["value_weight"],
            entropy_weight=now["entropy"],
        )
        return found

    def update(self, rollout: Rollout, progress: Progress) -> dict[str, float]:
        config, learner, maths = self.config, self.learner, self.learner.maths
        read = learner.read(rollout)
        advantage = maths.gae(
            read.reward,
            read.value,
            read.next_value,
            read.episode_end,
            config.gamma.at(progress),
            config.lambda_.at(progress),
        )
        batch = read.flatten(read.with_bonus(advantage), advantage + read.value)
        self.policy.observe_returns(batch.target)
        samples = learner.prepare(batch)
        if config.normalize_advantage:
            samples = replace(samples, advantage=maths.standardize(batch.advantage))
        self.optimizer.set_rates(progress)

        now = values_at(config, ("value_weight", "entropy"), progress)
        metrics = learner.single_step(self.objective, samples, now, progress)
        metrics |= maths.moments(advantage=batch.advantage)
        metrics |= learner.diagnostics(batch, samples)
        report: dict[str, float] = maths.numbers(metrics)
        return report
