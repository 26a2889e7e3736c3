"""A GRU over sequences on the CPU, with its gradient through time derived by hand, in NumPy.

A step of a small GRU is some ten products of a few kilobytes; torch takes longer to record and
differentiate them than to compute them. With 64 numbers and 8 sequences this takes a third of the
time. torch's cell is the reference: tests/policy/cores/test_cores.py compares both.

With a = W h + b and input gates g: r, z = σ(g + a), n = tanh(g + r a), h' = n + z (h − n).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

Floats = npt.NDArray[Any]


def gru(cell: nn.GRUCell, x: Tensor, sizes: Sequence[int], hidden: Tensor) -> Tensor:
    """Outputs of every step, as `Core.run` takes and gives them; `hidden` [N, size] before."""
    gates = torch.addmm(cell.bias_ih, x, cell.weight_ih.t())
    apply: Any = _Gru.apply
    output: Tensor = apply(gates, cell.weight_hh, cell.bias_hh, hidden, sizes)
    return output


class _Gru(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, weight: Tensor, bias: Tensor, hidden: Tensor, sizes: Sequence[int]
    ) -> Tensor:
        w, size = weight.detach().numpy(), weight.shape[1]
        g, h = gates.detach().numpy(), hidden.detach().numpy()
        kept = ctx.kept = _Kept(g, size, w, sizes)
        transposed, b = np.ascontiguousarray(w.T), bias.detach().numpy()
        start = 0
        for count in sizes:
            rows, h = slice(start, start + count), h[:count]
            a = h @ transposed + b
            h = kept.step(rows, g[rows], a, h)
            start += count
        return torch.from_numpy(kept.output)

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Any:
        kept: _Kept = ctx.kept
        of_gates, of_a = kept.slopes(slopes[0].numpy())
        of_weight = of_a.T @ kept.before
        given = (of_gates, of_weight, of_a.sum(axis=0))
        return (*map(torch.from_numpy, given), None, None)


class _Kept:
    """What forward computes and backward needs, a row per step of a sequence."""

    def __init__(self, like: Floats, size: int, weight: Floats, sizes: Sequence[int]) -> None:
        self.weight, self.size, self.sizes = weight, size, sizes
        self.gates = np.empty((len(like), 2 * size), like.dtype)
        self.new, self.recalled, self.before, self.output = (
            np.empty((len(like), size), like.dtype) for _ in range(4)
        )

    def step(self, rows: slice, g: Floats, a: Floats, h: Floats) -> Floats:
        size = self.size
        gates, new, output = self.gates[rows], self.new[rows], self.output[rows]
        np.add(g[:, : 2 * size], a[:, : 2 * size], out=gates)
        gates *= 0.5  # σ(x) = (1 + tanh(x / 2)) / 2 cannot overflow
        np.tanh(gates, out=gates)
        gates *= 0.5
        gates += 0.5
        self.recalled[rows], self.before[rows] = a[:, 2 * size :], h
        np.multiply(gates[:, :size], self.recalled[rows], out=new)
        new += g[:, 2 * size :]
        np.tanh(new, out=new)
        np.subtract(h, new, out=output)
        output *= gates[:, size:]
        output += new
        return output

    def slopes(self, of_output: Floats) -> tuple[Floats, Floats]:
        """By the input gates and by `a`, from the last step back to the first."""
        size, new, before = self.size, self.new, self.before
        r, z = self.gates[:, :size], self.gates[:, size:]
        by_new = (1 - z) * (1 - new * new)
        by_z, by_r = (before - new) * z * (1 - z), self.recalled * r * (1 - r)
        of_a = np.empty((len(new), 3 * size), new.dtype)
        of_new = np.empty_like(new)
        carried, stop = new[:0], len(new)
        for count in reversed(self.sizes):
            rows = slice(stop - count, stop)
            slope, into = of_output[rows].copy(), of_a[rows]
            slope[: len(carried)] += carried  # sequences that go on lie first
            np.multiply(slope, by_new[rows], out=of_new[rows])
            np.multiply(of_new[rows], by_r[rows], out=into[:, :size])
            np.multiply(slope, by_z[rows], out=into[:, size : 2 * size])
            np.multiply(of_new[rows], r[rows], out=into[:, 2 * size :])
            carried = into @ self.weight
            carried += slope * z[rows]
            stop -= count
        return np.concatenate([of_a[:, : 2 * size], of_new], axis=1), of_a
