"""Cores `gru` and `lstm` in NumPy, with gradients through time: counterparts of `policy/memory.py`.

Weights are views of the policy's own memory and gradients are written in place, as in `layers.py`.
Rows lie as `policy/recurrence.py` takes them: first steps of all sequences, then second ones ….
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final, cast

import numpy as np
from torch import Tensor, nn

from spotter.engines import kernels, plain
from spotter.engines.layers import BLAS_FROM, view
from spotter.engines.plain import Floats, Scratch, shared_scratch
from spotter.policy.actor import PolicyState
from spotter.policy.core import Cells
from spotter.policy.core import Core as PolicyCore
from spotter.policy.cores.gru import Gru as PolicyGru
from spotter.policy.cores.lstm import Lstm as PolicyLstm
from spotter.policy.memory import Memory as PolicyMemory
from spotter.policy.memory import unknown_past
from spotter.policy.recurrence import Ints

State = Sequence[Floats]
"""Parts of what is remembered; of a core [N, layers, size], of a cell [N, size]."""
_CORES: Final = (PolicyGru, PolicyLstm)


def can_compute(memory: PolicyMemory) -> bool:
    """Whether its cores are computed here; one of another package is not."""
    return all(type(core) in _CORES for core in (memory.actor, memory.critic) if core is not None)


class Cell(ABC):
    """One layer of a core."""

    def __init__(self, cell: nn.RNNCellBase, blocks: int, kept: int) -> None:
        """Gates come in `blocks` of the cell's size; `kept` arrays of it remember each step."""
        self.module = cell
        self.weight, self.bias = view(cell.weight_hh), view(cell.bias_hh)
        self._of_x = view(cell.weight_ih), view(cell.bias_ih)
        self._by = plain if cell.weight_ih.numel() >= BLAS_FROM else kernels
        self.gradients: dict[str, Floats] = {}
        self.size, self._blocks = cell.hidden_size, blocks
        self._gates = Scratch(blocks * self.size)
        self._kept = [Scratch(self.size) for _ in range(kept)]

    def forward(self, x: Floats, sizes: Ints, state: State) -> State:
        """The state after each row [B, size], first what comes out; `state` [N, size] is before."""
        gates = self._gates.rows(len(x))
        self._by.forward(x, *self._of_x, gates, kernels.LINEAR)
        self._x, self._sizes = x, sizes
        return self._steps(gates, state, [kept.rows(len(x)) for kept in self._kept])

    @abstractmethod
    def _steps(self, gates: Floats, state: State, kept: Sequence[Floats]) -> State:
        """From what inputs give to `gates`."""

    @abstractmethod
    def backward(self, d: Floats, to_input: Floats | None) -> None:
        """`d` is the derivative by what came out; `to_input` receives that by x."""

    def _carry_on(self, of_gates: Floats, of_a: Floats, to_input: Floats | None) -> None:
        """From the derivatives by W x + b and by W h + b to those by weights and x."""
        into, before = self.gradients, self._kept[0].rows(len(of_a))
        weight, _ = self._of_x
        kernels.backward(
            of_a, None, before, self.weight, into["weight_hh"], into["bias_hh"], None,
            kernels.LINEAR,
        )  # fmt: skip
        self._by.backward(
            of_gates, None, self._x, weight, into["weight_ih"], into["bias_ih"], to_input,
            kernels.LINEAR,
        )  # fmt: skip

    def _slope(self, rows: int, use: str) -> Floats:
        return shared_scratch(self._blocks * self.size, use).rows(rows)


class Gru(Cell):
    def __init__(self, cell: nn.RNNCellBase) -> None:
        super().__init__(cell, blocks=3, kept=3)

    def _steps(self, gates: Floats, state: State, kept: Sequence[Floats]) -> State:
        kernels.gru(gates, self.weight, self.bias, self._sizes, state[0], *kept)
        return kept[-1:]

    def backward(self, d: Floats, to_input: Floats | None) -> None:
        rows = len(d)
        gates, before, recalled, _ = (s.rows(rows) for s in (self._gates, *self._kept))
        of_gates, of_a = self._slope(rows, "of gates"), self._slope(rows, "of a")
        kernels.gru_slopes(d, gates, self.weight, self._sizes, before, recalled, of_gates, of_a)
        self._carry_on(of_gates, of_a, to_input)


class Lstm(Cell):
    def __init__(self, cell: nn.RNNCellBase) -> None:
        super().__init__(cell, blocks=4, kept=5)

    def _steps(self, gates: Floats, state: State, kept: Sequence[Floats]) -> State:
        kernels.lstm(gates, self.weight, self.bias, self._sizes, *state, *kept)
        _, _, cell, _, output = kept
        return output, cell

    def backward(self, d: Floats, to_input: Floats | None) -> None:
        rows = len(d)
        gates, _, held, _, shown, _ = (s.rows(rows) for s in (self._gates, *self._kept))
        of_gates = self._slope(rows, "of gates")
        kernels.lstm_slopes(d, gates, self.weight, self._sizes, held, shown, of_gates)
        self._carry_on(of_gates, of_gates, to_input)


class Core:
    """Cells, one above the other."""

    def __init__(self, core: PolicyCore) -> None:
        assert isinstance(core, Cells)
        make = Gru if isinstance(core, PolicyGru) else Lstm
        self.cells = [make(cast(nn.RNNCellBase, cell)) for cell in core.cells]
        inputs = (cell.module.input_size for cell in self.cells)
        self._below = [
            shared_scratch(width, f"below {index % 2}") for index, width in enumerate(inputs)
        ]

    def step(self, x: Floats, state: State) -> tuple[Floats, State]:
        """One step of N episodes; the state after it is in new arrays."""
        after = [np.empty(part.shape, np.float32) for part in state]
        for i, cell in enumerate(self.cells):
            found = cell.forward(x, _one_step(len(x)), _layer(state, i))
            for part, new in zip(after, found, strict=True):
                part[:, i] = new
            x = found[0]
        return x, after

    def run(self, x: Floats, sizes: Ints, state: State) -> Floats:
        """All steps of some sequences."""
        for i, cell in enumerate(self.cells):
            x = cell.forward(x, sizes, _layer(state, i))[0]
        return x

    def backward(self, d: Floats) -> Floats:
        """From the derivative by what came out to that by x; gradients are written on the way."""
        for i in range(len(self.cells) - 1, -1, -1):
            below = self._below[i].rows(len(d))
            self.cells[i].backward(d, below)
            d = below
        return d


class Memory:
    """The cores of a policy: one for both trunks, or one for each."""

    def __init__(self, memory: PolicyMemory) -> None:
        self.actor = Core(memory.actor)
        self.critic = None if memory.critic is None else Core(memory.critic)
        self._split = len(memory.actor.initial_state(0))

    def parts(self, state: PolicyState) -> tuple[State, State]:
        """Of the actor's core, and of the critic's."""
        if not state:
            raise unknown_past()
        arrays = [part.numpy() for part in state]
        return arrays[: self._split], arrays[self._split :]

    def bind(self, gradient: Callable[[Tensor], Tensor]) -> None:
        """Say where the gradient of each parameter shall go."""
        for cell in self._cells():
            for name, parameter in cell.module.named_parameters():
                cell.gradients[name] = view(gradient(parameter))

    def _cells(self) -> Iterator[Cell]:
        yield from self.actor.cells
        if self.critic is not None:
            yield from self.critic.cells


def _layer(state: State, i: int) -> State:
    return [part[:, i] for part in state]


@cache
def _one_step(count: int) -> Ints:
    return np.array([count], np.int64)
