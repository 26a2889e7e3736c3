"""The two ways to learn: with gradients derived by hand, or by torch.

Both evaluate samples, take the slopes of an algorithm's objective by log-probability, entropy and
value, carry them on to the weights, and step. The algorithm states its objective with `maths` and
does not see the difference.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from types import ModuleType
from typing import Any, Final, Generic, cast

import numpy as np
import torch
from torch import Tensor

from spotter.config import AlgoConfig
from spotter.engines import functional, objectives
from spotter.engines.blas import single_thread
from spotter.engines.losses import Evaluated, Objective, Scalar, Slopes
from spotter.engines.network import Network, numpy_network_for
from spotter.engines.optim import Optimizer
from spotter.policy.actor_critic import Policy
from spotter.policy.foresight import Steps
from spotter.rollouts.rollout import Arrays, Batch, Rollout, X
from spotter.types import Progress

ObjectiveOf = Callable[[Evaluated[X], Batch[X], Mapping[str, Any]], Objective[X]]
"""Of prepared samples, given what the policy says about them and scheduled settings by name."""
_MOST_OBSERVED: Final = 1024
"""Steps that statistics of predictions are taken from."""
_USUAL_CLIP: Final = 0.2
"""PPO's: where nothing is clipped, the fraction beyond it makes runs comparable."""


class Learner(ABC, Generic[X]):
    """What an algorithm learns with."""

    maths: ModuleType
    """The functions it states its objective with."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer

    @abstractmethod
    def read(self, rollout: Rollout) -> Rollout[X]:
        """The rollout as `maths` takes it."""

    @abstractmethod
    def prepare(self, batch: Batch[X]) -> Batch[X]:
        """Samples to learn from: observations encoded, values in the units the critic learns in."""

    @abstractmethod
    def training(self) -> AbstractContextManager[None]:
        """Meanwhile layers behave as in training."""

    @abstractmethod
    def select(self, batch: Batch[X], indices: Tensor) -> Batch[X]:
        """Some of the samples."""

    @abstractmethod
    def evaluate(self, batch: Batch[X]) -> Evaluated[X]:
        """What the policy says now about prepared samples."""

    @abstractmethod
    def step(self, slopes: Slopes[X], progress: Progress) -> Scalar:
        """Descend, given slopes by what `evaluate` said last; the gradient norm before clipping."""

    @abstractmethod
    def log_prob(self, batch: Batch[X]) -> X:
        """`evaluate` where nothing is learnt from it."""

    @abstractmethod
    def restored(self, raw_value: X) -> X:
        """From the units the critic learns in to those of returns."""

    @abstractmethod
    def activations(self, obs: Mapping[str, X]) -> list[X]:
        """Outputs of every activation layer for observations of prepared samples."""

    def single_step(
        self,
        objective: ObjectiveOf[X],
        samples: Batch[X],
        now: Mapping[str, float],
        progress: Progress,
    ) -> dict[str, Scalar]:
        """One gradient step with all samples; KL, measured afterwards, says how far it went."""
        with self.training():
            said = self.evaluate(samples)
        terms, slopes = objective(said, samples, now)
        terms["grad/norm"] = self.step(slopes, progress)
        terms |= self.maths.policy_shift(self.log_prob(samples) - samples.log_prob, _USUAL_CLIP)
        return terms

    def diagnostics(self, batch: Batch[X], samples: Batch[X]) -> dict[str, Scalar]:
        """Gradients, critic and layers after an update, by metric name.

        `samples` are those of the batch as `prepare` made them.
        """
        maths = self.maths
        return {
            **self.optimizer.gradient_norms(),
            **maths.moments(value=batch.value, **{"return": batch.target}),
            "value/explained_variance": maths.explained_variance(batch.value, batch.target),
            "net/dead_units": maths.dead_fraction(self.activations(samples.sample_obs())),
        }


class NumpyLearner(Learner[Arrays]):
    """Arrays, and gradients derived by hand."""

    maths = objectives

    def __init__(self, network: Network, optimizer: Optimizer) -> None:
        super().__init__(optimizer)
        self._network = network
        network.bind(optimizer.gradient_of)

    def read(self, rollout: Rollout) -> Rollout[Arrays]:
        return rollout.arrays()

    def prepare(self, batch: Batch[Arrays]) -> Batch[Arrays]:
        net = self._network
        return replace(
            batch,
            obs={"x": net.inputs(batch.obs)},
            value=net.normalized(batch.value),
            target=net.normalized(batch.target),
        )

    def training(self) -> AbstractContextManager[None]:
        return nullcontext()  # none of these layers behaves otherwise

    def select(self, batch: Batch[Arrays], indices: Tensor) -> Batch[Arrays]:
        return batch.select(indices.numpy())

    def evaluate(self, batch: Batch[Arrays]) -> Evaluated[Arrays]:
        x, recalled = batch.obs["x"], batch.recalled()
        return self._network.evaluate(x, batch.action, batch.mask, recalled)

    def step(self, slopes: Slopes[Arrays], progress: Progress) -> float:
        log_prob, entropy, raw_value = slopes
        if raw_value is None:
            raw_value = np.zeros_like(log_prob)
        self._network.backward(log_prob, float(entropy) / len(log_prob), raw_value)
        return self.optimizer.apply_numpy(progress)

    def log_prob(self, batch: Batch[Arrays]) -> Arrays:
        return self.evaluate(batch).log_prob

    def restored(self, raw_value: Arrays) -> Arrays:
        return self._network.restored(raw_value)

    def activations(self, obs: Mapping[str, Arrays]) -> list[Arrays]:
        return self._network.activations(obs)


class TorchLearner(Learner[Tensor]):
    """Tensors on any device, and torch's automatic differentiation."""

    maths = functional

    def __init__(self, policy: Policy, optimizer: Optimizer) -> None:
        super().__init__(optimizer)
        self._policy = policy
        self._said: tuple[Tensor, ...] = ()
        """What `evaluate` returned last, with its way back to the weights."""
        self._foreseen: tuple[Tensor, Tensor] | None = None
        """Losses of its predictions, alike."""

    def read(self, rollout: Rollout) -> Rollout[Tensor]:
        return rollout

    def prepare(self, batch: Batch[Tensor]) -> Batch[Tensor]:
        normalize = self._policy.normalize_value
        if self._policy.foresight is not None:
            every = -(-len(batch) // _MOST_OBSERVED)
            self._policy.foresight.observe(_steps(batch, slice(None, None, every)))
        return replace(batch, value=normalize(batch.value), target=normalize(batch.target))

    @contextmanager
    def training(self) -> Iterator[None]:
        self._policy.train()
        try:
            yield
        finally:
            self._policy.eval()

    def select(self, batch: Batch[Tensor], indices: Tensor) -> Batch[Tensor]:
        return batch.select(indices)

    def evaluate(self, batch: Batch[Tensor]) -> Evaluated[Tensor]:
        self._said = ()  # its memory is wanted
        said = self._policy.evaluate(batch.obs, batch.action, batch.mask, batch.recalled())
        self._said = said.log_prob, said.entropy, self._policy.normalize_value(said.value)
        if self._policy.foresight is not None:
            steps = _steps(batch)
            inputs = self._policy.inputs(steps.now)
            features = [body(inputs) for body in self._policy.bodies()]
            self._foreseen = self._policy.foresight.loss(features, steps)
        return Evaluated(*(x.detach() for x in self._said))

    def step(self, slopes: Slopes[Tensor], progress: Progress) -> Tensor:
        self.differentiate(slopes, progress)
        return self.optimizer.apply(progress)

    def differentiate(self, slopes: Slopes[Tensor], progress: Progress | None = None) -> None:
        """`step` as far as the optimizer's gradient."""
        of_entropy = torch.ones_like(slopes.log_prob) * slopes.entropy / len(slopes.log_prob)
        given = [slopes.log_prob, of_entropy]
        if slopes.raw_value is not None:
            given.append(slopes.raw_value)
        said = self._said[: len(given)]
        if self._foreseen is not None and progress is not None:
            weights = self._policy.config.foresight_at(progress).values()
            said += self._foreseen
            given += [torch.full_like(x, w) for x, w in zip(self._foreseen, weights, strict=True)]
        self.optimizer.differentiate(said, given)
        self._said = ()
        self._foreseen = self._losses()

    def diagnostics(self, batch: Batch[Tensor], samples: Batch[Tensor]) -> dict[str, Scalar]:
        found = super().diagnostics(batch, samples)
        if losses := self._losses():
            found["loss/predict_obs"], found["loss/predict_reward"] = losses
        return found

    def _losses(self) -> tuple[Tensor, Tensor] | None:
        """Of the last predictions, without their way back."""
        if self._foreseen is None:
            return None
        of_next, of_reward = self._foreseen
        return of_next.detach(), of_reward.detach()

    @torch.no_grad()
    def log_prob(self, batch: Batch[Tensor]) -> Tensor:
        said = self._policy.evaluate(batch.obs, batch.action, batch.mask, batch.recalled())
        return said.log_prob

    def restored(self, raw_value: Tensor) -> Tensor:
        norm = self._policy.value_norm
        return raw_value if norm is None else norm.restore(raw_value)

    def activations(self, obs: Mapping[str, Tensor]) -> list[Tensor]:
        return self._policy.activations(obs)


def _steps(batch: Batch[Tensor], rows: slice = slice(None)) -> Steps:
    """As predictions are made of them."""
    assert batch.outlook is not None, "the collector keeps what is seen last"
    then = batch.outlook.select(rows)
    now = {path: leaf[rows] for path, leaf in batch.obs.items()}
    return Steps(now, batch.action[rows], then.obs(), then.reward, then.goes_on)


def make_learner(policy: Policy, config: AlgoConfig) -> Learner:
    """With an optimizer for the policy, by the policy's compute backend."""
    optimizer = Optimizer(policy, config)
    foresees = policy.foresight is not None  # by gradients of torch
    network = (
        None if foresees else numpy_network_for(policy)
    )  # after the optimizer has put all weights into one vector
    if network is None:
        if policy.memory is not None:
            single_thread()  # for gradients through time
        return cast(Learner, TorchLearner(policy, optimizer))
    return cast(Learner, NumpyLearner(network, optimizer))


def learns_in_numpy(algorithm: object) -> bool:
    """Whether an algorithm has a `NumpyLearner`; one of another package may not."""
    return isinstance(getattr(algorithm, "learner", None), NumpyLearner)
