"""Proximal Policy Optimization (Schulman et al., 2017) with the details that make it work.

docs/algorithms/ppo.md lists each detail and where it stands here. The target-KL stop ends the
current update only; value clipping is off unless asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil, isqrt
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, ConfigDict, Field

from spotter.config import AlgoConfig, RunConfig, Whole, Work
from spotter.metrics.spec import MetricSpec
from spotter.schedules import Schedule, constant, within

if TYPE_CHECKING:
    from torch import Tensor

    from spotter.collector import Collector
    from spotter.fast.graphs import Updates
    from spotter.nets.actor_critic import Policy
    from spotter.rollout import Batch, Rollout
    from spotter.types import Progress

METRICS = (
    MetricSpec("ppo/epochs", "passes over the rollout that were finished or begun"),
    MetricSpec("ppo/kl_stop", "1 if target_kl ended this update early", low=0, high=1),
    MetricSpec(
        "ppo/lr_factor", "what lr_target_kl multiplied this update's learning rate by", low=0
    ),
)
_KL_SLACK = 1.5  # the target is a mean; single minibatches scatter around it
_MOST_TRIED = 100_000  # divisors of a rollout
_LR_STEP, _LR_RANGE = 1.5, (0.01, 10.0)


def _samples_or_fraction(value: Any) -> Any:
    """`1` is one sample, `1.0` the whole rollout, `5e2` five hundred samples."""
    if isinstance(value, float) and value > 1:
        if not value.is_integer():
            raise ValueError("a number of samples must be whole; fractions go up to 1.0")
        return int(value)
    return value


class Config(AlgoConfig):
    """Settings of PPO."""

    model_config = ConfigDict(populate_by_name=True)

    name: Literal["ppo"] = "ppo"
    steps: Whole = Field(128, ge=1, description="Vector steps per rollout.")
    minibatch: Annotated[int | float, BeforeValidator(_samples_or_fraction)] = Field(
        0.25, gt=0, description="Samples; a float up to 1.0 is a fraction of the rollout."
    )
    epochs: Annotated[Schedule, within(1)] = Field(constant(4), description="Passes per rollout.")
    lambda_: Annotated[Schedule, within(0, 1)] = Field(
        constant(0.95), alias="lambda", description="Of generalised advantage estimation."
    )
    clip: Annotated[Schedule, within(0)] = Field(
        constant(0.2), description="How far the probability ratio may leave 1 and still count."
    )
    value_weight: Annotated[Schedule, within(0)] = Field(
        constant(0.5), description="Weight of the value loss."
    )
    value_loss: Literal["mse", "huber"] = Field(
        "mse", description="Squared error, or linear beyond huber_delta."
    )
    huber_delta: float = Field(1.0, gt=0, description="Where huber turns linear.")
    value_clip: Annotated[Schedule, within(0, open_low=True)] | None = Field(
        None, description="Hold value predictions to ±value_clip of the old ones."
    )
    normalize_advantage: Literal["minibatch", "rollout"] | None = Field(
        "minibatch", description="Over which samples advantages get mean 0 and std 1."
    )
    target_kl: Annotated[Schedule, within(0, open_low=True)] | None = Field(
        None, description="End the update when approx_kl passes 1.5 times this."
    )
    lr_target_kl: Annotated[Schedule, within(0, open_low=True)] | None = Field(
        None, description="Raise or lower the learning rate to keep KL near this."
    )

    overlap: bool = Field(
        False,
        description="Collect the next rollout while learning from the last, one update late.",
    )

    @property
    def ahead(self) -> bool:
        return self.overlap

    def passes(self, progress: Progress) -> int:
        """Whole passes over a rollout; a schedule runs through fractions, too."""
        return round(self.epochs.at(progress))

    def at(self, progress: Progress) -> dict[str, float]:
        return super().at(progress) | {"epochs": float(self.passes(progress))}

    def samples(self, count: int) -> int:
        """Minibatch size for `count` copies."""
        whole = count * self.steps
        return self.minibatch if isinstance(self.minibatch, int) else round(self.minibatch * whole)

    def gradient_steps(self, count: int, progress: Progress) -> int:
        """Of one update with `count` copies."""
        return self.passes(progress) * ceil(count * self.steps / self.samples(count))

    def work(self, count: int) -> Work:
        return Work(self.steps, self.samples(count), max(self.epochs.values()))

    def check(self, run: RunConfig) -> None:
        rollout = run.env.count * self.steps
        size = self.samples(run.env.count)
        if size < 1 or rollout % size:
            near = min(_divisors(rollout), key=lambda n: abs(n - size))
            raise ValueError(
                f"algo.minibatch={self.minibatch:g} must divide the rollout of env.count × "
                f"algo.steps = {run.env.count} × {self.steps} = {rollout}; nearest: {near}"
            )
        if size == 1 and run.policy.norm == "batch":
            raise ValueError("policy.norm: batch needs minibatches of at least 2 samples")


def _divisors(number: int) -> Iterator[int]:
    """All of them for any rollout that fits into memory; of larger numbers, some."""
    for n in range(1, min(isqrt(number), _MOST_TRIED) + 1):
        if number % n == 0:
            yield n
            yield number // n


def make(config: Config, policy: Policy, seed: int) -> PPO:
    return PPO(config, policy, seed)


class PPO:
    """Clipped surrogate objective over several epochs of shuffled minibatches."""

    def __init__(self, config: Config, policy: Policy, seed: int) -> None:
        import torch

        from spotter.fast.learner import twin_of
        from spotter.optim import Optimizer

        self.config = config
        self.policy = policy
        self.optimizer = Optimizer(policy, config)
        self.network, self._maths = twin_of(policy, self.optimizer)
        self.shuffle = torch.Generator().manual_seed(seed)
        self.lr_factor = 1.0
        self._updates: Updates | None = None
        if self.optimizer.flat.device.type == "cuda":
            from spotter.fast.graphs import Updates

            self._updates = Updates(self.optimizer, _Values._fields)

    def retune(self, config: Config) -> None:
        self.config = self.optimizer.config = config

    def state(self) -> dict[str, Any]:
        return {
            "optimizer": self.optimizer.state(),
            "shuffle": self.shuffle.get_state(),
            "lr_factor": self.lr_factor,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        import torch

        self.optimizer.restore(state["optimizer"])
        self.shuffle.set_state(torch.as_tensor(state["shuffle"]))
        self.lr_factor = state["lr_factor"]

    def collect(self, collector: Collector, progress: Progress) -> Rollout:
        return collector.collect(self.config.steps, progress)

    def update(self, rollout: Rollout, progress: Progress) -> dict[str, float]:
        config, policy, maths = self.config, self.policy, self._maths
        rollout = rollout.arrays() if self.network else rollout
        advantage = self._advantages(rollout, progress)
        batch = rollout.flatten(advantage, advantage + rollout.value)
        policy.observe_returns(batch.target)
        spread = maths.moments(advantage=batch.advantage, value=batch.value)
        if config.normalize_advantage == "rollout":
            batch = replace(batch, advantage=maths.standardize(batch.advantage))
        if self.network:
            batch = replace(batch, obs={"x": self.network.inputs(batch.obs)})
        self.optimizer.set_rates(progress, self.lr_factor)
        now = _Values.at(config, progress)
        size = config.samples(rollout.count)

        if self.network is None:
            policy.train()
        if self._updates is not None and rollout.whole and self._updates.ready(batch, policy):
            metrics, steps = self._replay(batch, size, now, progress)
        else:
            metrics, steps = self._epochs(batch, size, now, progress)
        if self.network is None:
            policy.eval()

        passes, per_pass = config.passes(progress), ceil(len(batch) / size)
        stopped = steps < passes * per_pass
        epochs = steps // per_pass + 1 if stopped else passes
        metrics |= self.optimizer.gradient_norms()
        metrics |= spread | maths.moments(**{"return": batch.target})
        metrics["value/explained_variance"] = maths.explained_variance(batch.value, batch.target)
        net = self.network or policy
        metrics["net/dead_units"] = maths.dead_fraction(net.activations(batch.sample_obs()))
        report: dict[str, float] = maths.numbers(metrics)
        report |= {
            "ppo/epochs": epochs,
            "ppo/kl_stop": float(stopped),
            "ppo/lr_factor": self.lr_factor,
        }
        self._adapt_rate(report["policy/approx_kl"], progress)  # for the next update
        return report

    def _advantages(self, rollout: Rollout, progress: Progress) -> Any:
        gamma, lam = self.config.gamma.at(progress), self.config.lambda_.at(progress)
        given = rollout.reward, rollout.value, rollout.next_value, rollout.episode_end
        if self._updates is not None and self.policy.config.engine == "auto":
            return self._updates.advantages(*given, gamma, lam)
        return self._maths.gae(*given, gamma, lam)

    def _epochs(
        self, batch: Batch, size: int, now: _Values, progress: Progress
    ) -> tuple[dict[str, Any], int]:
        """Shuffled passes over the batch, step by step; means of all terms, number of steps."""
        import torch

        step = self._numpy_step if self.network else self._torch_step
        losses: list[dict[str, Any]] = []
        for _ in range(self.config.passes(progress)):
            order = torch.randperm(len(batch), generator=self.shuffle)
            for indices in torch.split(order, size):
                terms = step(batch, indices, now, progress, may_stop=bool(losses))
                if terms is None:
                    return self._maths.averages(losses), len(losses)
                losses.append(terms)
        return self._maths.averages(losses), len(losses)

    def _replay(
        self, batch: Batch, size: int, now: _Values, progress: Progress
    ) -> tuple[dict[str, Any], int]:
        """`_epochs`, recorded: a GPU's own scalars stand where numbers would."""
        import torch

        config, updates = self.config, self._updates
        assert updates is not None
        updates.dial.set({name: value or 0.0 for name, value in now._asdict().items()})
        scalars: dict[str, Any] = {
            name: None if value is None else updates.dial[name]
            for name, value in now._asdict().items()
        }
        on_device = _Values(**scalars)
        limit = config.max_grad_norm
        passes = config.passes(progress)
        return updates.run(
            batch,
            (torch.randperm(len(batch), generator=self.shuffle) for _ in range(passes)),
            size,
            lambda part: self._losses(part, on_device),
            None if limit is None else limit.at(progress),
            None if config.target_kl is None else lambda terms: _too_far(terms, on_device),
        )

    def _torch_step(
        self, batch: Batch, indices: Tensor, now: _Values, progress: Progress, may_stop: bool
    ) -> dict[str, Any] | None:
        """One gradient step; None, and no step, if the policy has moved too far already."""
        terms = self._losses(batch.select(indices), now)
        if may_stop and _too_far(terms, now):
            return None
        terms["grad/norm"] = self.optimizer.step(terms["loss/total"], progress)
        return {name: value.detach() for name, value in terms.items()}

    def _losses(self, batch: Batch, now: _Values) -> dict[str, Any]:
        from spotter import functional as F

        config, policy = self.config, self.policy
        advantage = batch.advantage
        if config.normalize_advantage == "minibatch":
            advantage = F.standardize(advantage)
        said = policy.evaluate(batch.obs, batch.action, batch.mask)
        log_ratio = said.log_prob - batch.log_prob
        value_loss = F.value_loss(
            policy.normalize_value(said.value),
            policy.normalize_value(batch.target),
            huber_delta=config.huber_delta if config.value_loss == "huber" else None,
            old_value=policy.normalize_value(batch.value),
            clip=now.value_clip,
        )
        entropy = said.entropy.mean()
        terms = {
            "loss/policy": F.clipped_surrogate(log_ratio, advantage, now.clip),
            "loss/value": now.value_weight * value_loss,
            "loss/entropy": -now.entropy * entropy,
        }
        total = terms["loss/policy"] + terms["loss/value"] + terms["loss/entropy"]
        shift = F.policy_shift(log_ratio.detach(), now.clip)
        return {**terms, "loss/total": total, "policy/entropy": entropy, **shift}

    def _numpy_step(
        self, batch: Batch, indices: Tensor, now: _Values, progress: Progress, may_stop: bool
    ) -> dict[str, Any] | None:
        """`_torch_step` with the gradient derived by hand."""
        import numpy as np

        from spotter.fast import objectives as F

        config, net = self.config, self.network
        assert net is not None
        part = batch.select(indices.numpy())
        said = net.evaluate(part.obs["x"], part.action, part.mask)
        log_ratio = said.log_prob - part.log_prob
        ratio = np.exp(log_ratio)
        shift = F.policy_shift(log_ratio, now.clip, ratio)
        if may_stop and _too_far(shift, now):
            return None
        advantage = part.advantage
        if config.normalize_advantage == "minibatch":
            advantage = F.standardize(advantage)
        policy_loss, policy_slope = F.clipped_surrogate_slope(ratio, advantage, now.clip)
        value_loss, value_slope = F.value_loss_slope(
            said.raw_value,
            net.normalized(part.target),
            huber_delta=config.huber_delta if config.value_loss == "huber" else None,
            old_value=net.normalized(part.value),
            clip=now.value_clip,
        )
        entropy = F.mean(said.entropy)
        net.backward(policy_slope, -now.entropy / len(part), now.value_weight * value_slope)
        terms = {
            "loss/policy": policy_loss,
            "loss/value": now.value_weight * value_loss,
            "loss/entropy": -now.entropy * entropy,
        }
        terms["loss/total"] = sum(terms.values())
        norm = self.optimizer.apply_numpy(progress)
        return {**terms, "policy/entropy": entropy, **shift, "grad/norm": norm}

    def _adapt_rate(self, kl: float, progress: Progress) -> None:
        if self.config.lr_target_kl is None:
            return
        target = self.config.lr_target_kl.at(progress)
        if kl > 2 * target:
            self.lr_factor = max(_LR_RANGE[0], self.lr_factor / _LR_STEP)
        elif kl < target / 2:
            self.lr_factor = min(_LR_RANGE[1], self.lr_factor * _LR_STEP)


class _Values(NamedTuple):
    """Scheduled settings at one point of training."""

    clip: float
    value_weight: float
    entropy: float
    value_clip: float | None
    target_kl: float | None

    @classmethod
    def at(cls, config: Config, progress: Progress) -> _Values:
        return cls(
            config.clip.at(progress),
            config.value_weight.at(progress),
            config.entropy.at(progress),
            config.value_clip.at(progress) if config.value_clip else None,
            config.target_kl.at(progress) if config.target_kl else None,
        )


def _too_far(terms: Mapping[str, Any], now: _Values) -> Any:
    return now.target_kl is not None and terms["policy/approx_kl"] > _KL_SLACK * now.target_kl
