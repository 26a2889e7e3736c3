"""Proximal Policy Optimization (Schulman et al., 2017) with the details that make it work.

docs/algorithms/ppo.md lists each detail and where it stands here. The target-KL stop ends the
current update only; value clipping is off unless asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil, isqrt
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

from pydantic import BeforeValidator, ConfigDict, Field

from spotter.config import AlgoConfig, RunConfig, Whole, Work
from spotter.metrics.spec import MetricSpec
from spotter.schedules import Schedule, constant, values_at, within

if TYPE_CHECKING:
    from torch import Tensor

    from spotter.collect.collector import Collector
    from spotter.engines.cuda_graphs import Updates
    from spotter.engines.losses import Evaluated, Objective, Scalar
    from spotter.policy.actor_critic import Policy
    from spotter.rollouts.rollout import Batch, Rollout, X
    from spotter.types import Numbers, Progress

METRICS = (
    MetricSpec("ppo/epochs", "passes over the rollout that were finished or begun"),
    MetricSpec("ppo/kl_stop", "1 if target_kl ended this update early", low=0, high=1),
    MetricSpec(
        "ppo/lr_factor", "what lr_target_kl multiplied this update's learning rate by", low=0
    ),
)
_SCHEDULED = ("clip", "value_weight", "entropy", "value_clip", "target_kl")
_KL_SLACK = 1.5  # the target is a mean; single minibatches scatter around it
_MOST_TRIED = 100_000  # divisors of a rollout
_LR_STEP, _LR_RANGE = 1.5, (0.01, 10.0)


def _samples_or_fraction(value: object) -> object:
    """`1` is one sample, `1.0` the whole rollout, `5e2` five hundred samples."""
    if isinstance(value, float) and value > 1:
        if not value.is_integer():
            raise ValueError("a number of samples must be whole; fractions go up to 1.0")
        return int(value)
    return value


class Config(AlgoConfig):
    """Settings of PPO."""

    model_config = ConfigDict(populate_by_name=True)

    adds_bonus: ClassVar[bool] = True
    trains_trunks: ClassVar[bool] = True
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
    def overlaps(self) -> bool:
        return self.overlap

    def passes(self, progress: Progress) -> int:
        """Whole passes over a rollout; a schedule runs through fractions, too."""
        return round(self.epochs.at(progress))

    def at(self, progress: Progress) -> dict[str, float]:
        return super().at(progress) | {"epochs": float(self.passes(progress))}

    def samples(self, count: int) -> int:
        """Minibatch size for `count` envs."""
        whole = count * self.steps
        return self.minibatch if isinstance(self.minibatch, int) else round(self.minibatch * whole)

    def gradient_steps(self, count: int, progress: Progress) -> int:
        """Of one update with `count` envs."""
        return self.passes(progress) * ceil(count * self.steps / self.samples(count))

    def work(self, count: int) -> Work:
        return Work(self.steps, self.samples(count), max(self.epochs.values()))

    def check(self, run: RunConfig) -> None:
        rollout = run.env.count * self.steps
        size = self.samples(run.env.count)
        unit = 1 if run.policy.core is None else self.steps  # a core learns from whole sequences
        if size < 1 or rollout % size or size % unit:
            near = unit * min(_divisors(rollout // unit), key=lambda n: abs(n * unit - size))
            whole = f"hold whole sequences of {unit} steps (policy.core) and " if unit > 1 else ""
            raise ValueError(
                f"algo.minibatch={self.minibatch:g} must {whole}divide the rollout of env.count × "
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


def collect(config: Config, collector: Collector, progress: Progress) -> Rollout:
    return collector.collect(config.steps, progress)


def make(config: Config, policy: Policy, seed: int) -> PPO:
    return PPO(config, policy, seed)


class PPO:
    """Clipped surrogate objective over several epochs of shuffled minibatches."""

    def __init__(self, config: Config, policy: Policy, seed: int) -> None:
        import torch

        from spotter.engines.learner import TorchLearner, make_learner

        self.config = config
        self.policy = policy
        self.learner = make_learner(policy, config)
        self.optimizer = self.learner.optimizer
        self.shuffle = torch.Generator().manual_seed(seed)
        self.lr_factor = 1.0
        self._updates: Updates | None = None
        on_gpu = self.optimizer.flat.device.type == "cuda"
        if on_gpu and not policy.config.foresees and isinstance(self.learner, TorchLearner):
            from spotter.engines.cuda_graphs import Updates

            self._updates = Updates(self.learner)

    def retune(self, config: Config) -> None:
        self.config = self.optimizer.config = config

    def state(self) -> dict[str, object]:
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

    def objective(
        self, said: Evaluated[X], batch: Batch[X], now: Mapping[str, object]
    ) -> Objective[X]:
        """−E[min(r A, clip(r, 1 ± ε) A)] + c₁ E[½ (V − R)²] − c₂ E[H], r = π / π_old."""
        maths, config = self.learner.maths, self.config
        log_ratio = said.log_prob - batch.log_prob
        ratio = maths.exp(log_ratio)
        advantage = batch.advantage
        if config.normalize_advantage == "minibatch":
            advantage = maths.standardize(advantage)
        found: Objective[X] = maths.objective(
            maths.clipped_surrogate(ratio, advantage, now["clip"]),
            maths.value_loss(
                said.raw_value,
                batch.target,
                huber_delta=config.huber_delta if config.value_loss == "huber" else None,
                old_value=batch.value,
                clip=now.get("value_clip"),
            ),
            said.entropy,
            value_weight=now["value_weight"],
            entropy_weight=now["entropy"],
            metrics=maths.policy_shift(log_ratio, now["clip"], ratio),
        )
        return found

    def update(self, rollout: Rollout, progress: Progress) -> dict[str, float]:
        config, learner, maths = self.config, self.learner, self.learner.maths
        read = learner.read(rollout)
        advantage = self._advantages(read, progress)
        batch = read.flatten(read.with_bonus(advantage), advantage + read.value)
        self.policy.observe_returns(batch.target)
        samples = learner.prepare(batch)
        if config.normalize_advantage == "rollout":
            samples = replace(samples, advantage=maths.standardize(batch.advantage))
        self.optimizer.set_rates(progress, self.lr_factor)
        size = config.samples(read.count)
        graphs = self._updates
        replays = graphs is not None and read.whole and graphs.ready(batch, self.policy)

        with learner.training():
            learn = self._replay if replays else self._epochs
            metrics, steps = learn(samples, size, values_at(config, _SCHEDULED, progress), progress)
        passes, per_pass = config.passes(progress), samples.parts(size)
        stopped = steps < passes * per_pass
        metrics |= maths.moments(advantage=batch.advantage)
        metrics |= learner.diagnostics(batch, samples)
        report: dict[str, float] = maths.numbers(metrics)
        report |= {
            "ppo/epochs": steps // per_pass + 1 if stopped else passes,
            "ppo/kl_stop": float(stopped),
            "ppo/lr_factor": self.lr_factor,
        }
        self._adapt_rate(report["policy/approx_kl"], progress)  # for the next update
        return report

    def _advantages(self, rollout: Rollout[Numbers], progress: Progress) -> Numbers:
        gamma, lam = self.config.gamma.at(progress), self.config.lambda_.at(progress)
        given = rollout.reward, rollout.value, rollout.next_value, rollout.episode_end
        if self._updates is not None and self.policy.config.engine == "auto":
            tensors = cast("tuple[Tensor, Tensor, Tensor, Tensor]", given)
            return self._updates.advantages(*tensors, gamma, lam)
        found: Numbers = self.learner.maths.gae(*given, gamma, lam)
        return found

    def _epochs(
        self, samples: Batch, size: int, now: Mapping[str, float], progress: Progress
    ) -> tuple[dict[str, Scalar], int]:
        """Shuffled passes over the samples, step by step; means of all terms, number of steps."""
        rows: list[dict[str, Scalar]] = []
        for _ in range(self.config.passes(progress)):
            for indices in samples.minibatches(size, self.shuffle):
                terms = self._minibatch(
                    self.learner.select(samples, indices), now, progress, may_stop=bool(rows)
                )
                if terms is None:
                    return self.learner.maths.averages(rows), len(rows)
                rows.append(terms)
        return self.learner.maths.averages(rows), len(rows)

    def _minibatch(
        self, samples: Batch, now: Mapping[str, float], progress: Progress, may_stop: bool
    ) -> dict[str, Scalar] | None:
        """One gradient step; None, and no step, if the policy has moved too far already."""
        terms, slopes = self.objective(self.learner.evaluate(samples), samples, now)
        if may_stop and _too_far(terms, now):
            return None
        terms["grad/norm"] = self.learner.step(slopes, progress)
        return terms

    def _replay(
        self, samples: Batch, size: int, now: Mapping[str, float], progress: Progress
    ) -> tuple[dict[str, Tensor], int]:
        """`_epochs` as a CUDA graph: scalars on the device stand where numbers would."""
        assert self._updates is not None
        limit = self.config.max_grad_norm
        return self._updates.run(
            self.objective,
            cast("Batch[Tensor]", samples),  # graphs are of tensors only
            self._orders(len(samples), progress),
            size,
            now,
            None if limit is None else limit.at(progress),
            None if self.config.target_kl is None else _too_far,
        )

    def _orders(self, count: int, progress: Progress) -> Iterator[Tensor]:
        """A permutation of the samples for each pass."""
        import torch

        for _ in range(self.config.passes(progress)):
            yield torch.randperm(count, generator=self.shuffle)

    def _adapt_rate(self, kl: float, progress: Progress) -> None:
        if self.config.lr_target_kl is None:
            return
        target = self.config.lr_target_kl.at(progress)
        if kl > 2 * target:
            self.lr_factor = max(_LR_RANGE[0], self.lr_factor / _LR_STEP)
        elif kl < target / 2:
            self.lr_factor = min(_LR_RANGE[1], self.lr_factor * _LR_STEP)


def _too_far(terms: Mapping[str, object], now: Mapping[str, Any]) -> object:
    return "target_kl" in now and terms["policy/approx_kl"] > _KL_SLACK * now["target_kl"]
