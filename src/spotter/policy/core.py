"""What every core has in common: a step, and how a batch of sequences is run step by step.

A core is a memory between a network's trunk and its heads. It holds no state: the caller gives it
and takes the next one. Where episodes begin is not its matter, either.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from spotter.policy.actor import PolicyState


class Core(nn.Module, ABC):
    """Features and a state in, features and the next state out."""

    features: int
    """How many come out."""

    @abstractmethod
    def initial_state(self, count: int) -> PolicyState:
        """The state where `count` episodes begin: zeros, [count, …] each."""

    @abstractmethod
    def forward(self, x: Tensor, state: PolicyState) -> tuple[Tensor, PolicyState]:
        """One step of N episodes, [N, features]; the state given is not changed in place."""

    def run(self, x: Tensor, sizes: Sequence[int], state: PolicyState) -> Tensor:
        """All steps of several sequences, the longest first.

        `x` holds their first steps, then their second ones …; `sizes` says how many sequences have
        a first step, a second one …. Nothing is padded.
        """
        outputs = []
        for part in torch.split(x, list(sizes)):
            output, state = self(part, tuple(old[: len(part)] for old in state))
            outputs.append(output)
        return torch.cat(outputs)


class Cells(Core):
    """Layers of torch's recurrent cells; each remembers `parts` vectors."""

    def __init__(
        self,
        cell: Callable[[int, int], nn.RNNCellBase],
        parts: int,
        inputs: int,
        size: int,
        layers: int,
        orthogonal: bool,
    ) -> None:
        super().__init__()
        self.features, self._parts = size, parts
        self.cells = nn.ModuleList([cell(size if i else inputs, size) for i in range(layers)])
        if orthogonal:
            for name, parameter in self.cells.named_parameters():
                with torch.no_grad():
                    _ = parameter.zero_() if "bias" in name else nn.init.orthogonal_(parameter)

    def initial_state(self, count: int) -> PolicyState:
        weight = next(self.parameters())
        shape = (count, len(self.cells), self.features)
        return tuple(weight.new_zeros(shape) for _ in range(self._parts))

    def forward(self, x: Tensor, state: PolicyState) -> tuple[Tensor, PolicyState]:
        layers = []
        for i, cell in enumerate(self.cells):
            before = tuple(part[:, i] for part in state)
            after = cell(x, before if self._parts > 1 else before[0])
            layers.append(after if self._parts > 1 else (after,))
            x = layers[-1][0]
        return x, tuple(torch.stack(parts, 1) for parts in zip(*layers, strict=True))
