"""Advantage actor-critic (Mnih et al., 2016), synchronous: one gradient step per short rollout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Field

from spotter.config import AlgoConfig, Whole, Work
from spotter.metrics.spec import MetricSpec
from spotter.schedules import Schedule, constant, within

if TYPE_CHECKING:
    from spotter.collector import Collector
    from spotter.nets.actor_critic import Policy
    from spotter.rollout import Batch, Rollout
    from spotter.types import Progress

METRICS: tuple[MetricSpec, ...] = ()
_CLIP = 0.2  # A2C clips nothing; the fraction beyond PPO's usual bound makes runs comparable


class Config(AlgoConfig):
    """Settings of A2C."""

    model_config = ConfigDict(populate_by_name=True)

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


def make(config: Config, policy: Policy, seed: int) -> A2C:
    return A2C(config, policy)


class A2C:
    """Policy gradient with a learnt baseline on n-step advantages."""

    def __init__(self, config: Config, policy: Policy) -> None:
        from spotter.fast.learner import twin_of
        from spotter.optim import Optimizer

        self.config = config
        self.policy = policy
        self.optimizer = Optimizer(policy, config)
        self.network, self._maths = twin_of(policy, self.optimizer)

    def retune(self, config: Config) -> None:
        self.config = self.optimizer.config = config

    def state(self) -> dict[str, Any]:
        return {"optimizer": self.optimizer.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.optimizer.restore(state["optimizer"])

    def collect(self, collector: Collector, progress: Progress) -> Rollout:
        return collector.collect(self.config.steps, progress)

    def update(self, rollout: Rollout, progress: Progress) -> dict[str, float]:
        config, policy, maths = self.config, self.policy, self._maths
        rollout = rollout.arrays() if self.network else rollout
        gamma, lam = config.gamma.at(progress), config.lambda_.at(progress)
        advantage = maths.gae(
            rollout.reward, rollout.value, rollout.next_value, rollout.episode_end, gamma, lam
        )
        batch = rollout.flatten(advantage, advantage + rollout.value)
        policy.observe_returns(batch.target)
        spread = maths.moments(advantage=batch.advantage, value=batch.value)
        if config.normalize_advantage:
            batch = replace(batch, advantage=maths.standardize(batch.advantage))
        if self.network:
            batch = replace(batch, obs={"x": self.network.inputs(batch.obs)})
        self.optimizer.set_rates(progress)

        metrics = (self._numpy_step if self.network else self._torch_step)(batch, progress)
        metrics |= self.optimizer.gradient_norms()
        metrics |= spread | maths.moments(**{"return": batch.target})
        metrics["value/explained_variance"] = maths.explained_variance(batch.value, batch.target)
        net = self.network or policy
        metrics["net/dead_units"] = maths.dead_fraction(net.activations(batch.sample_obs()))
        return {name: float(value) for name, value in metrics.items()}

    def _torch_step(self, batch: Batch, progress: Progress) -> dict[str, Any]:
        import torch

        from spotter import functional as F

        config, policy = self.config, self.policy
        policy.train()
        now = policy.evaluate(batch.obs, batch.action, batch.mask)
        policy.eval()
        value_loss = F.value_loss(
            policy.normalize_value(now.value),
            policy.normalize_value(batch.target),
            huber_delta=config.huber_delta if config.value_loss == "huber" else None,
        )
        metrics = {
            "loss/policy": -(batch.advantage * now.log_prob).mean(),
            "loss/value": config.value_weight.at(progress) * value_loss,
            "loss/entropy": -config.entropy.at(progress) * now.entropy.mean(),
        }
        metrics["loss/total"] = torch.stack(list(metrics.values())).sum()
        metrics["grad/norm"] = self.optimizer.step(metrics["loss/total"], progress)
        metrics["policy/entropy"] = now.entropy.mean()
        metrics = {name: value.detach() for name, value in metrics.items()}
        with torch.no_grad():
            after = policy.evaluate(batch.obs, batch.action, batch.mask)
            return metrics | F.policy_shift(after.log_prob - batch.log_prob, _CLIP)

    def _numpy_step(self, batch: Batch, progress: Progress) -> dict[str, Any]:
        """`_torch_step` with the gradient derived by hand."""
        from spotter.fast import objectives as F

        config, net = self.config, self.network
        assert net is not None
        x = batch.obs["x"]
        now = net.evaluate(x, batch.action, batch.mask)
        value_loss, value_slope = F.value_loss_slope(
            now.raw_value,
            net.normalized(batch.target),
            huber_delta=config.huber_delta if config.value_loss == "huber" else None,
        )
        value_weight, entropy_weight = config.value_weight.at(progress), config.entropy.at(progress)
        entropy = F.mean(now.entropy)
        metrics: dict[str, Any] = {
            "loss/policy": -F.mean(batch.advantage * now.log_prob),
            "loss/value": value_weight * value_loss,
            "loss/entropy": -entropy_weight * entropy,
        }
        metrics["loss/total"] = sum(metrics.values())
        slope = batch.advantage * (-1 / len(batch))
        net.backward(slope, -entropy_weight / len(batch), value_weight * value_slope)
        metrics["grad/norm"] = self.optimizer.apply_numpy(progress)
        metrics["policy/entropy"] = entropy
        after = net.evaluate(x, batch.action, batch.mask)
        return metrics | F.policy_shift(after.log_prob - batch.log_prob, _CLIP)
