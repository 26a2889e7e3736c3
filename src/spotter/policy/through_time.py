"""Sequences through torch's GRU and LSTM cells on a CPU, by `recurrence.py` in place of autograd.

A step of a small cell is some ten products of a few kilobytes; torch takes longer to record and
differentiate them than to compute them. With 64 numbers and 8 sequences this takes a third of the
time. Where the whole policy is computed without torch, see `engines/recurrent.py`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from spotter.policy import recurrence
from spotter.policy.recurrence import Floats, Ints


def gru(cell: nn.GRUCell, x: Tensor, sizes: Sequence[int], hidden: Tensor) -> Tensor:
    """Outputs of every step, as `Core.run` takes and gives them; `hidden` [N, size] before."""
    gates = torch.addmm(cell.bias_ih, x, cell.weight_ih.t())
    apply: Any = _Gru.apply
    output: Tensor = apply(gates, cell.weight_hh, cell.bias_hh, hidden, _ints(sizes))
    return output


def lstm(
    cell: nn.LSTMCell, x: Tensor, sizes: Sequence[int], hidden: Tensor, held: Tensor
) -> Tensor:
    """The same for an LSTM; `held` is what its cells hold before."""
    gates = torch.addmm(cell.bias_ih, x, cell.weight_ih.t())
    apply: Any = _Lstm.apply
    output: Tensor = apply(gates, cell.weight_hh, cell.bias_hh, hidden, held, _ints(sizes))
    return output


def _ints(sizes: Sequence[int]) -> Ints:
    return np.asarray(sizes, np.int64)


class _Gru(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, weight: Tensor, bias: Tensor, hidden: Tensor, sizes: Ints
    ) -> Tensor:
        w, b, h = (x.detach().numpy() for x in (weight, bias, hidden))
        g = gates.detach().numpy().copy()
        before, recalled, output = _empty(g, w, 3)
        recurrence.gru(g, w, b, sizes, h, before, recalled, output)
        ctx.kept = g, w, sizes, before, recalled
        return torch.from_numpy(output)

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Any:
        gates, weight, sizes, before, recalled = ctx.kept
        of_gates, of_a = np.empty_like(gates), np.empty_like(gates)
        recurrence.gru_slopes(
            slopes[0].numpy(), gates, weight, sizes, before, recalled, of_gates, of_a
        )
        given = (of_gates, of_a.T @ before, of_a.sum(axis=0))
        return (*map(torch.from_numpy, given), None, None)


class _Lstm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        gates: Tensor,
        weight: Tensor,
        bias: Tensor,
        hidden: Tensor,
        held: Tensor,
        sizes: Ints,
    ) -> Tensor:
        w, b, h, c = (x.detach().numpy() for x in (weight, bias, hidden, held))
        g = gates.detach().numpy().copy()
        before, old, kept, shown, output = _empty(g, w, 5)
        recurrence.lstm(g, w, b, sizes, h, c, before, old, kept, shown, output)
        ctx.kept = g, w, sizes, before, old, shown
        return torch.from_numpy(output)

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Any:
        gates, weight, sizes, before, held, shown = ctx.kept
        of_gates = np.empty_like(gates)
        recurrence.lstm_slopes(slopes[0].numpy(), gates, weight, sizes, held, shown, of_gates)
        given = (of_gates, of_gates.T @ before, of_gates.sum(axis=0))
        return (*map(torch.from_numpy, given), None, None, None)


def _empty(gates: Floats, weight: Floats, count: int) -> list[Floats]:
    """Room for what each step remembers."""
    return [np.empty((len(gates), weight.shape[1]), gates.dtype) for _ in range(count)]
