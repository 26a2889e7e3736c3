"""GRU and LSTM over sequences on the CPU, with gradients through time derived by hand, in NumPy.

A step of a small cell is some ten products of a few kilobytes; torch takes longer to record and
differentiate them than to compute them. With 64 numbers and 8 sequences this takes a third of the
time. torch's cells are the reference: tests/policy/cores/test_cores.py compares them.

With a = W h + b and what the inputs give, g:
GRU: r, z = σ(g + a), n = tanh(g + r a), h' = n + z (h − n).
LSTM: i, f, o = σ(g + a), n = tanh(g + a), c' = f c + i n, h' = o tanh(c').
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


def lstm(
    cell: nn.LSTMCell, x: Tensor, sizes: Sequence[int], hidden: Tensor, held: Tensor
) -> Tensor:
    """The same for an LSTM; `held` is what its cells hold before."""
    gates = torch.addmm(cell.bias_ih, x, cell.weight_ih.t())
    apply: Any = _Lstm.apply
    output: Tensor = apply(gates, cell.weight_hh, cell.bias_hh, hidden, held, sizes)
    return output


def _sigmoid(x: Floats) -> None:
    """In place; by tanh, which cannot overflow."""
    x *= 0.5
    np.tanh(x, out=x)
    x *= 0.5
    x += 0.5


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
        _sigmoid(gates)
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


class _Lstm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        gates: Tensor,
        weight: Tensor,
        bias: Tensor,
        hidden: Tensor,
        held: Tensor,
        sizes: Sequence[int],
    ) -> Tensor:
        w, size = weight.detach().numpy(), weight.shape[1]
        g, h, c = (x.detach().numpy() for x in (gates, hidden, held))
        kept = ctx.kept = _KeptLstm(g, size, w, sizes)
        transposed, b = np.ascontiguousarray(w.T), bias.detach().numpy()
        start = 0
        for count in sizes:
            rows, h, c = slice(start, start + count), h[:count], c[:count]
            a = h @ transposed
            a += b
            a += g[rows]
            h, c = kept.step(rows, a, h, c)
            start += count
        return torch.from_numpy(kept.output)

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Any:
        kept: _KeptLstm = ctx.kept
        of_a = kept.slopes(slopes[0].numpy())
        given = (of_a, of_a.T @ kept.before, of_a.sum(axis=0))
        return (*map(torch.from_numpy, given), None, None, None)


class _KeptLstm:
    """What forward computes and backward needs, a row per step of a sequence."""

    def __init__(self, like: Floats, size: int, weight: Floats, sizes: Sequence[int]) -> None:
        self.weight, self.size, self.sizes = weight, size, sizes
        self.gates = np.empty((len(like), 4 * size), like.dtype)
        """i, f, n and o, in torch's order."""
        self.before, self.held, self.shown, self.output = (
            np.empty((len(like), size), like.dtype) for _ in range(4)
        )

    def step(self, rows: slice, a: Floats, h: Floats, c: Floats) -> tuple[Floats, Floats]:
        size, gates = self.size, self.gates[rows]
        gates[:] = a
        _sigmoid(gates[:, : 2 * size])
        np.tanh(gates[:, 2 * size : 3 * size], out=gates[:, 2 * size : 3 * size])
        _sigmoid(gates[:, 3 * size :])
        i, f, new, o = (gates[:, k * size : (k + 1) * size] for k in range(4))
        self.before[rows], self.held[rows] = h, c
        held = f * c
        held += i * new
        shown, output = self.shown[rows], self.output[rows]
        np.tanh(held, out=shown)
        np.multiply(o, shown, out=output)
        return output, held

    def slopes(self, of_output: Floats) -> Floats:
        """By `a`, from the last step back to the first."""
        size = self.size
        i, f, new, o = (self.gates[:, k * size : (k + 1) * size] for k in range(4))
        by_o, through = self.shown * o * (1 - o), o * (1 - self.shown * self.shown)
        by_held = (new * i * (1 - i), self.held * f * (1 - f), i * (1 - new * new))
        of_a = np.empty_like(self.gates)
        carried, of_held, stop = self.shown[:0], self.shown[:0], len(of_a)
        for count in reversed(self.sizes):
            rows = slice(stop - count, stop)
            slope, into = of_output[rows].copy(), of_a[rows]
            slope[: len(carried)] += carried  # sequences that go on lie first
            by_cell = slope * through[rows]
            by_cell[: len(of_held)] += of_held
            for k, factor in enumerate(by_held):
                np.multiply(by_cell, factor[rows], out=into[:, k * size : (k + 1) * size])
            np.multiply(slope, by_o[rows], out=into[:, 3 * size :])
            carried, of_held = into @ self.weight, by_cell * f[rows]
            stop -= count
        return of_a
