"""Recorded work for NVIDIA GPUs: one launch for acting, one for a whole minibatch.

A network of this size keeps a GPU busy for microseconds where launching its kernels one by one
takes milliseconds. A recording replays them all at fixed addresses, so whatever changes from one
replay to the next lies in tensors: indices, rates, clip ranges, Adam's step count. The plain path
is the reference: the first update runs on it (which also warms up the libraries), recording
executes nothing, and tests/fast/test_graphs.py shows that both end with the same parameters.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import torch
from torch import Tensor

from spotter import functional
from spotter.fast.acting import stand_in
from spotter.fast.images import Stacks
from spotter.nets.actor_critic import Acted, Policy
from spotter.optim import BETAS, Adam, Optimizer

if TYPE_CHECKING:
    from spotter.rollout import Batch

Result = TypeVar("Result")
Losses = Callable[["Batch"], dict[str, Tensor]]
"""Terms by metric name; `loss/total` is what is differentiated."""
_TOTAL: Final = "loss/total"
_MOST_TERMS: Final = 32
_KEPT: Final = 2  # recordings: rollouts may take turns in two places
_WARM_UP: Final = 4  # calls that run plainly, so that libraries are loaded and have chosen


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


class Dial:
    """Settings that follow schedules, as device scalars that a recording reads.

    All of them travel in one copy per update.
    """

    def __init__(self, names: Sequence[str], device: torch.device) -> None:
        self._names = tuple(names)
        self._values = torch.zeros(len(self._names), device=device)
        self._scalars = dict(zip(self._names, self._values.unbind(), strict=True))

    def __getitem__(self, name: str) -> Tensor:
        return self._scalars[name]

    def __contains__(self, name: str) -> bool:
        return name in self._scalars

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
        """Tell the optimizer how many steps were made."""
        if isinstance(self._optimizer.rule, Adam):
            self._optimizer.rule.steps += taken

    def step(self, loss: Tensor, limited: bool, go: Tensor | None) -> Tensor:
        """Differentiate, clip, step; returns the gradient norm. Where `go` is false, all stays."""
        optimizer = self._optimizer
        optimizer.differentiate(loss)
        with torch.no_grad():
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
    """The minibatches of updates: select, forward, loss, backward, clip and step in one launch.

    `too_far`, where given, says by which terms no more steps may be made: from then on replays
    change nothing, so that nobody need look in between.
    """

    def __init__(
        self,
        losses: Losses,
        steps: Steps,
        batch: "Batch",
        size: int,
        limited: bool,
        too_far: Callable[[Mapping[str, Tensor]], Tensor] | None = None,
    ) -> None:
        device = batch.action.device
        # what is computed anew for every update gets an address of its own
        self._batch = replace(
            batch,
            advantage=torch.empty_like(batch.advantage),
            target=torch.empty_like(batch.target),
        )
        self._losses, self._steps, self._limited = losses, steps, limited
        self._too_far = too_far
        self._indices = torch.zeros(size, dtype=torch.int64, device=device)
        self._go = torch.ones((), dtype=torch.bool, device=device)
        self._taken = torch.zeros((), dtype=torch.int64, device=device)
        self._names: tuple[str, ...] = ()
        self._sums = torch.zeros(_MOST_TERMS, device=device)
        self._recording = Recording(self._minibatch)

    def run(self, batch: "Batch", orders: Iterable[Tensor]) -> tuple[dict[str, Tensor], int]:
        """One pass for each permutation of the samples, until told to stop.

        Returns the means of all terms over the steps made, and the number of steps.
        """
        self._batch.advantage.copy_(batch.advantage)
        self._batch.target.copy_(batch.target)
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
        terms = self._losses(self._batch.select(self._indices))
        go = None
        if self._too_far is not None:
            # an update's first step is always made
            self._go &= ~self._too_far(terms) | (self._taken == 0)
            go = self._go
        terms["grad/norm"] = self._steps.step(terms[_TOTAL], self._limited, go)
        self._names = tuple(terms)
        values = torch.stack([value.detach() for value in terms.values()])
        self._sums[: len(values)] += values if go is None else torch.where(go, values, 0.0)
        self._taken += 1 if go is None else go.long()


class Updates:
    """An algorithm's recorded minibatches, made anew when the memory they work on has moved."""

    def __init__(self, optimizer: Optimizer, names: Sequence[str]) -> None:
        """`names`: the scheduled settings that losses read from `dial`."""
        self.dial = Dial(names, optimizer.flat.device)
        self._optimizer = optimizer
        self._steps = Steps(optimizer)
        self._recorded: dict[Any, Minibatches] = {}
        self._advantages: dict[Any, Recording[Tensor]] = {}
        self._updates = 0

    def ready(self, batch: "Batch", policy: Policy) -> bool:
        """Whether this update can be replayed; the first one warms the libraries up instead."""
        self._updates += 1
        return (
            batch.action.device.type == "cuda"
            and self._updates > 1
            and policy.config.engine == "auto"
            and policy.config.norm != "batch"  # its statistics would move with undone steps
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
        batch: "Batch",
        orders: Iterable[Tensor],
        size: int,
        losses: Losses,
        limit: float | None,
        too_far: Callable[[Mapping[str, Tensor]], Tensor] | None,
    ) -> tuple[dict[str, Tensor], int]:
        """An update's passes over `batch`; see `Minibatches.run`."""
        self._steps.load(limit)
        key = (size, limit is None, too_far is None, *_addresses(batch))
        if key not in self._recorded:
            for old in list(self._recorded)[: 1 - _KEPT]:
                del self._recorded[old]  # its memory is wanted for the new one
            limited = limit is not None
            self._recorded[key] = Minibatches(losses, self._steps, batch, size, limited, too_far)
        means, taken = self._recorded[key].run(batch, orders)
        self._steps.save(taken)
        return means, taken


def _addresses(batch: "Batch") -> list[Any]:
    leaves = [*batch.obs.values(), batch.action, batch.log_prob, batch.value]
    leaves += [] if batch.mask is None else [batch.mask]
    found = [x.data_ptr() if isinstance(x, Tensor) else x.addresses for x in leaves]
    return [len(batch), *found]


class Actors:
    """Acting for groups of copies: recorded where observations lie at fixed addresses."""

    def __init__(self, policy: Policy, generator: torch.Generator) -> None:
        self._policy, self._generator = policy, generator
        self._recorded: dict[Any, Recording[Acted]] = {}
        self._calls = 0
        self._standing = stand_in(policy) if generator.device.type == "cpu" else None

    def refresh(self) -> None:
        """The policy may have learnt something."""
        if self._standing is not None:
            self._standing.refresh()

    def act(self, rows: slice, obs: Mapping[str, Any], mask: Tensor | None) -> Acted:
        """Actions for some copies; what is returned holds until the same copies act again."""
        fixed = mask is None and all(isinstance(leaf, Stacks) for leaf in obs.values())
        if not fixed or self._generator.device.type != "cuda":
            return self._act(obs, mask)
        self._calls += 1
        if self._policy.config.engine != "auto" or self._calls <= _WARM_UP:
            return self._act(obs, mask)
        key = (rows.start, rows.stop, *(leaf.addresses for leaf in obs.values()))
        if key not in self._recorded:
            of_these = [known for known in self._recorded if known[:2] == key[:2]]
            for old in of_these[: 1 - _KEPT]:
                del self._recorded[old]
            self._recorded[key] = Recording(lambda: self._act(obs, None), [self._generator])
        return self._recorded[key]()

    def _act(self, obs: Mapping[str, Any], mask: Tensor | None) -> Acted:
        leaves = {path: leaf[:] for path, leaf in obs.items()}
        policy = self._policy if self._standing is None else self._standing.policy
        return policy.act(leaves, mask, self._generator)
