"""REINFORCE (Williams, 1992): whole episodes, Monte-Carlo returns, one gradient step.

Every copy plays the same number of complete episodes per update, so short episodes are not
over-represented. With `baseline: value` a time limit is bootstrapped like everywhere else;
without a critic there is nothing to bootstrap from and a truncated return is just its sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from spotter.config import AlgoConfig, Whole, Work
from spotter.metrics.spec import MetricSpec
from spotter.schedules import Schedule, constant, within

if TYPE_CHECKING:
    from spotter.collector import Collector
    from spotter.nets.actor_critic import Policy
    from spotter.rollout import Batch, Rollout
    from spotter.types import Progress

METRICS: tuple[MetricSpec, ...] = ()
_CLIP = 0.2  # nothing is clipped; the fraction beyond PPO's usual bound makes runs comparable


class Config(AlgoConfig):
    """Settings of REINFORCE."""

    rests: ClassVar[bool] = True

    name: Literal["reinforce"] = "reinforce"
    lr: Annotated[Schedule, within(0)] = Field(constant(1e-2), description="Learning rate.")
    episodes: Whole = Field(1, ge=1, description="Complete episodes per copy and update.")
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


def make(config: Config, policy: Policy, seed: int) -> Reinforce:
    return Reinforce(config, policy)


class Reinforce:
    """The plain policy gradient, with a choice of baselines."""

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
        return collector.collect_episodes(self.config.episodes, progress)

    def update(self, rollout: Rollout, progress: Progress) -> dict[str, float]:
        config, policy, maths = self.config, self.policy, self._maths
        rollout = rollout.arrays() if self.network else rollout
        returns = self._returns(rollout, config.gamma.at(progress))
        batch = rollout.flatten(returns, returns)
        policy.observe_returns(batch.target)
        if self.network:
            batch = replace(batch, obs={"x": self.network.inputs(batch.obs)})
        self.optimizer.set_rates(progress)

        metrics = (self._numpy_step if self.network else self._torch_step)(batch, progress)
        metrics |= self.optimizer.gradient_norms()
        metrics |= maths.moments(value=batch.value, **{"return": batch.target})
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
        advantage = self._advantage(batch.target, now.value.detach())
        metrics = {
            "loss/policy": -(advantage * now.log_prob).mean(),
            "loss/entropy": -config.entropy.at(progress) * now.entropy.mean(),
        }
        if config.baseline == "value":
            value_loss = F.value_loss(
                policy.normalize_value(now.value), policy.normalize_value(batch.target)
            )
            metrics["loss/value"] = config.value_weight.at(progress) * value_loss
        metrics["loss/total"] = torch.stack(list(metrics.values())).sum()
        metrics["grad/norm"] = self.optimizer.step(metrics["loss/total"], progress)
        metrics["policy/entropy"] = now.entropy.mean()
        metrics = {name: value.detach() for name, value in metrics.items()}
        with torch.no_grad():
            after = policy.evaluate(batch.obs, batch.action, batch.mask)
            metrics |= F.policy_shift(after.log_prob - batch.log_prob, _CLIP)
        return metrics | F.moments(advantage=advantage)

    def _numpy_step(self, batch: Batch, progress: Progress) -> dict[str, Any]:
        """`_torch_step` with the gradient derived by hand."""
        import numpy as np

        from spotter.fast import objectives as F

        config, net = self.config, self.network
        assert net is not None
        x = batch.obs["x"]
        now = net.evaluate(x, batch.action, batch.mask)
        advantage: Any = self._advantage(batch.target, net.restored(now.raw_value))
        entropy, entropy_weight = F.mean(now.entropy), config.entropy.at(progress)
        metrics: dict[str, Any] = {
            "loss/policy": -F.mean(advantage * now.log_prob),
            "loss/entropy": -entropy_weight * entropy,
        }
        value_slope = np.zeros_like(now.raw_value)
        if config.baseline == "value":
            weight = config.value_weight.at(progress)
            loss, slope = F.value_loss_slope(now.raw_value, net.normalized(batch.target))
            metrics["loss/value"], value_slope = weight * loss, weight * slope
        metrics["loss/total"] = sum(metrics.values())
        net.backward(advantage * (-1 / len(batch)), -entropy_weight / len(batch), value_slope)
        metrics["grad/norm"] = self.optimizer.apply_numpy(progress)
        metrics["policy/entropy"] = entropy
        after = net.evaluate(x, batch.action, batch.mask)
        metrics |= F.policy_shift(after.log_prob - batch.log_prob, _CLIP)
        return metrics | F.moments(advantage=advantage)

    def _returns(self, rollout: Rollout, gamma: float) -> Any:
        maths = self._maths
        bootstrap = rollout.next_value * (self.config.baseline == "value")
        to_go = maths.discounted_returns(rollout.reward, bootstrap, rollout.episode_end, gamma)
        if self.config.returns == "to_go":
            return to_go
        return maths.episode_returns(to_go, rollout.episode_end)

    def _advantage(self, returns: Any, value: Any) -> Any:
        if self.config.baseline == "value":
            advantage = returns - value
        elif self.config.baseline == "mean":
            advantage = returns - returns.mean()
        else:
            advantage = returns
        if self.config.normalize_returns and len(returns) > 1:
            advantage = advantage / (self._maths.std(advantage) + 1e-8)
        return advantage
