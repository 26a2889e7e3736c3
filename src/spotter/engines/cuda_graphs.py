"""Recorded work for NVIDIA GPUs: one launch for a whole minibatch.

A network of this size keeps a GPU busy for microseconds where launching its kernels one by one
takes milliseconds. A recording replays them all at fixed addresses, so whatever changes from one
replay to the next lies in tensors: indices, rates, clip ranges, Adam's step count. The plain path
is the reference: the first update runs on it (which also warms up the libraries), recording
executes nothing, and tests/engines/test_cuda_graphs.py shows that both end with the same
parameters.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import torch
from torch import Tensor

from spotter.engines import functional
from spotter.engines.learner import ObjectiveOf, TorchLearner
from spotter.engines.optim import BETAS, Adam, Optimizer
from spotter.policy.actor_critic import Policy
from spotter.rollouts.images import Stacks

if TYPE_CHECKING:
    from spotter.rollouts.rollout import Batch

Result = TypeVar("Result")
Values = Mapping[str, Any]
"""Scheduled settings by name: numbers, or the device's own scalars."""
TooFar = Callable[[Mapping[str, Any], Values], Any]
"""Whether the terms of an objective say that no more steps may be made."""
_MOST_TERMS: Final = 32
_KEPT: Final = 2  # recordings: rollouts may take turns in two places


class Recording(Generic[Result]):
    """A function of tensors at fixed addresses, recorded once; a call replays it."""

    def __init__(
        self, function: Callable[[], Result], generators: Sequence[torch.Generator] = ()
    ) -> None:
        self._graph = torch.cuda.CUDAGraph()
        for generator in generators:
            self._graph.register_generator_state(generator)
        torch.cuda.synchronize()
        # other threads (an evaluation, say) may use the device meanwhile
        with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            self.result = function()

    def __call__(self) -> Result:
        """The same tensors every time, with new contents."""
        self._graph.replay()
        return self.result


class Dial(Mapping[str, Tensor]):
    """Settings that follow schedules, as device scalars that a recording reads.

    All of them travel in one copy per update.
    """

    def __init__(self, names: Sequence[str], device: torch.device) -> None:
        self._names = tuple(names)
        self._values = torch.zeros(len(self._names), device=device)
        self._scalars = dict(zip(self._names, self._values.unbind(), strict=True))

    def __getitem__(self, name: str) -> Tensor:
        return self._scalars[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scalars)

    def __len__(self) -> int:
        return len(self._scalars)

    def set(self, values: Mapping[str, float]) -> None:
        self._values.copy_(torch.tensor([values[name] for name in self._names]))


class Steps:
    """An optimizer's step with rates, limit and step count on the device."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        device = optimizer.flat.device
        self._rates = Dial(("lr", "critic_lr", "limit"), device)
        # double: 1 − 0.999ⁿ loses half its digits in single precision while n is small
        self._count = torch.zeros((), dtype=torch.float64, device=device)
        memory = [x for x in vars(optimizer.rule).values() if isinstance(x, Tensor)]
        self._memory = [optimizer.flat, self._count, *memory]

    def load(self, limit: float | None) -> None:
        """Take over the optimizer's rates and count for the update to come."""
        lr, critic_lr = self._optimizer.rates
        self._rates.set({"lr": lr, "critic_lr": critic_lr, "limit": limit or 0.0})
        rule = self._optimizer.rule
        self._count.fill_(rule.steps if isinstance(rule, Adam) else 0)

    def save(self, taken: int) -> None:
        """Set the optimizer's number of steps."""
        if isinstance(self._optimizer.rule, Adam):
            self._optimizer.rule.steps += taken

    @torch.no_grad()
    def step(self, limited: bool, go: Tensor | None) -> Tensor:
        """Clip the gradient and step; returns its norm before. Where `go` is false, all stays."""
        optimizer = self._optimizer
        before = [] if go is None else [x.clone() for x in self._memory]
        norm: Tensor = torch.linalg.vector_norm(optimizer.gradient)
        if limited:
            optimizer.gradient *= (self._rates["limit"] / (norm + 1e-6)).clamp(max=1.0)
        change, split = self._change(), optimizer.split
        optimizer.flat[:split].addcmul_(change[:split], self._rates["lr"], value=-1)
        optimizer.flat[split:].addcmul_(change[split:], self._rates["critic_lr"], value=-1)
        if go is not None:
            for now, old in zip(self._memory, before, strict=True):
                torch.where(go, now, old, out=now)
        return norm

    def _change(self) -> Tensor:
        rule, flat, gradient = self._optimizer.rule, self._optimizer.flat, self._optimizer.gradient
        if not isinstance(rule, Adam):
            return rule.change(flat, gradient)
        self._count += 1
        of_mean, of_square = (1 - torch.pow(beta, self._count) for beta in BETAS)
        return rule.corrected(flat, gradient, of_mean.float(), of_square.sqrt().float())


class Minibatches:
    """The minibatches of updates: select, evaluate, objective, backward, clip, step in one launch.

    Once `too_far`, where given, says so, replays change nothing: no check is needed in between.
    """

    def __init__(
        self,
        learner: TorchLearner,
        steps: Steps,
        objective: ObjectiveOf[Tensor],
        batch: "Batch[Tensor]",
        size: int,
        now: Values,
        limited: bool,
        too_far: TooFar | None = None,
    ) -> None:
        device = batch.action.device
        value, advantage, target = map(torch.empty_like, _computed(batch))
        self._batch = replace(batch, value=value, advantage=advantage, target=target)
        self._learner, self._steps, self._limited = learner, steps, limited
        self._objective, self._now, self._too_far = objective, now, too_far
        self._indices = torch.zeros(size, dtype=torch.int64, device=device)
        self._go = torch.ones((), dtype=torch.bool, device=device)
        self._taken = torch.zeros((), dtype=torch.int64, device=device)
        self._names: tuple[str, ...] = ()
        self._sums = torch.zeros(_MOST_TERMS, device=device)
        self._recording = Recording(self._minibatch)

    def run(
        self, batch: "Batch[Tensor]", orders: Iterable[Tensor]
    ) -> tuple[dict[str, Tensor], int]:
        """One pass for each permutation of the samples, until stopped.

        Returns the means of all terms over the steps made, and the number of steps.
        """
        for own, given in zip(_computed(self._batch), _computed(batch), strict=True):
            own.copy_(given)
        self._go.fill_(True)
        self._taken.zero_()
        self._sums.zero_()
        replays = 0
        for order in orders:
            for indices in torch.split(order.to(self._indices.device), len(self._indices)):
                self._indices.copy_(indices)
                self._recording()
                replays += 1
            if self._too_far is not None and not self._go:
                break
        taken = replays if self._too_far is None else int(self._taken)
        return dict(zip(self._names, (self._sums / taken).unbind(), strict=False)), taken

    def _minibatch(self) -> None:
        part = self._learner.select(self._batch, self._indices)
        terms, slopes = self._objective(self._learner.evaluate(part), part, self._now)
        go = None
        if self._too_far is not None:
            # an update's first step is always made
            self._go &= ~self._too_far(terms, self._now) | (self._taken == 0)
            go = self._go
        self._learner.differentiate(slopes)
        terms["grad/norm"] = self._steps.step(self._limited, go)
        self._names = tuple(terms)
        values = torch.stack([torch.as_tensor(term) for term in terms.values()])
        self._sums[: len(values)] += values if go is None else torch.where(go, values, 0.0)
        self._taken += 1 if go is None else go.long()


class Updates:
    """An algorithm's minibatches as CUDA graphs, rebuilt when the memory they work on has moved."""

    def __init__(self, learner: TorchLearner) -> None:
        self._learner, self._device = learner, learner.optimizer.flat.device
        self._steps = Steps(learner.optimizer)
        self._dial = Dial((), self._device)
        self._recorded: dict[Any, Minibatches] = {}
        self._advantages: dict[object, Recording[Tensor]] = {}
        self._updates = 0

    def ready(self, batch: "Batch", policy: Policy) -> bool:
        """Whether this update can be replayed; the first one warms the libraries up instead."""
        self._updates += 1
        return (
            isinstance(batch.action, Tensor)
            and batch.action.device.type == "cuda"
            and self._updates > 1
            and policy.config.engine == "auto"
            and policy.config.norm != "batch"  # its statistics would move with undone steps
            and batch.timeline is None  # sequences are of other lengths every time
        )

    def advantages(
        self,
        reward: Tensor,
        value: Tensor,
        next_value: Tensor,
        episode_end: Tensor,
        gamma: float,
        lam: float,
    ) -> Tensor:
        """`functional.gae`; what is returned holds until the next call."""
        given = reward, value, next_value, episode_end
        key = (gamma, lam, reward.shape, *(x.data_ptr() for x in given))
        if key not in self._advantages:
            # where γ or λ follows a schedule, a recording would serve once
            if not self._updates or len(self._advantages) >= _KEPT:
                return functional.gae(*given, gamma, lam)
            self._advantages[key] = Recording(lambda: functional.gae(*given, gamma, lam))
        return self._advantages[key]()

    def run(
        self,
        objective: ObjectiveOf[Tensor],
        batch: "Batch[Tensor]",
        orders: Iterable[Tensor],
        size: int,
        now: Mapping[str, float],
        limit: float | None,
        too_far: TooFar | None,
    ) -> tuple[dict[str, Tensor], int]:
        """An update's passes over `batch`; see `Minibatches.run`."""
        self._steps.load(limit)
        if set(now) != set(self._dial):  # a setting was switched on or off
            self._dial = Dial(tuple(now), self._device)
            self._recorded.clear()
        self._dial.set(now)
        key = (size, limit is None, too_far is None, *_addresses(batch))
        if key not in self._recorded:
            for old in list(self._recorded)[: 1 - _KEPT]:
                del self._recorded[old]  # its memory is wanted for the new one
            self._recorded[key] = Minibatches(
                self._learner,
                self._steps,
                objective,
                batch,
                size,
                self._dial,
                limit is not None,
                too_far,
            )
        means, taken = self._recorded[key].run(batch, orders)
        self._steps.save(taken)
        return means, taken


def _computed(batch: "Batch[Tensor]") -> tuple[Tensor, Tensor, Tensor]:
    """What is computed for every update, and may be at any address."""
    return batch.value, batch.advantage, batch.target


def _addresses(batch: "Batch[Tensor]") -> list[object]:
    leaves: list[Tensor | Stacks] = [*batch.obs.values(), batch.action, batch.log_prob]
    leaves += [] if batch.mask is None else [batch.mask]
    found = [x.data_ptr() if isinstance(x, Tensor) else x.addresses for x in leaves]
    return [len(batch), *found]
