"""GRU and LSTM over sequences, and their gradients through time, derived by hand, in NumPy.

Rows hold the first steps of all sequences, then their second ones …, the longest sequence first;
`sizes` says how many sequences have a first step, a second one …. B rows, N sequences, H numbers
remembered. Results go to the arrays named for them. With a = W h + b and what the inputs give, g:

GRU: r, z = σ(g + a), n = tanh(g + r a), h' = n + z (h − n).
LSTM: i, f, o = σ(g + a), n = tanh(g + a), c' = f c + i n, h' = o tanh(c').

torch's cells are the reference of these functions (tests/policy/cores/test_cores.py), and these of
the compiled ones (tests/engines/test_kernels_cores.py).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[Any]
"""float32, or float64 to compare with."""
Ints = npt.NDArray[np.int64]


def lstm(
    gates: Floats,
    weight: Floats,
    bias: Floats,
    sizes: Ints,
    hidden: Floats,
    cell: Floats,
    before: Floats,
    held: Floats,
    kept: Floats,
    shown: Floats,
    output: Floats,
) -> None:
    """`gates` [B, 4H]: g, overwritten by i, f, n, o. `hidden`, `cell` [N, H]: before all steps.

    Of each step [B, H]: h and c before it, c' after it, tanh(c'), h'.
    """
    size, transposed = weight.shape[1], np.ascontiguousarray(weight.T)
    gates += bias
    h, c = hidden, cell
    for rows in _steps(sizes):
        g, count = gates[rows], rows.stop - rows.start
        before[rows], held[rows] = h[:count], c[:count]
        g += before[rows] @ transposed
        _sigmoid(g[:, : 2 * size])
        np.tanh(g[:, 2 * size : 3 * size], out=g[:, 2 * size : 3 * size])
        _sigmoid(g[:, 3 * size :])
        i, f, new, o = _parts(g, 4)
        h, c = output[rows], kept[rows]
        np.multiply(f, held[rows], out=c)
        c += i * new
        np.tanh(c, out=shown[rows])
        np.multiply(o, shown[rows], out=h)


def lstm_slopes(
    of_output: Floats,
    gates: Floats,
    weight: Floats,
    sizes: Ints,
    held: Floats,
    shown: Floats,
    of_gates: Floats,
) -> None:
    """From the derivative by h' to that by g + a, [B, 4H], from the last step to the first."""
    i, f, new, o = _parts(gates, 4)
    by_o, through = shown * o * (1 - o), o * (1 - shown * shown)
    by_held = (new * i * (1 - i), held * f * (1 - f), i * (1 - new * new))
    carried, of_cell = of_output[:0], of_output[:0]
    for rows in reversed(list(_steps(sizes))):
        slope = of_output[rows].copy()
        slope[: len(carried)] += carried  # sequences that go on lie first
        by_cell = slope * through[rows]
        by_cell[: len(of_cell)] += of_cell
        *into, of_o = _parts(of_gates[rows], 4)
        for part, factor in zip(into, by_held, strict=True):
            np.multiply(by_cell, factor[rows], out=part)
        np.multiply(slope, by_o[rows], out=of_o)
        carried, of_cell = of_gates[rows] @ weight, by_cell * f[rows]


def gru(
    gates: Floats,
    weight: Floats,
    bias: Floats,
    sizes: Ints,
    hidden: Floats,
    before: Floats,
    recalled: Floats,
    output: Floats,
) -> None:
    """`gates` [B, 3H]: g, overwritten by r, z, n. `hidden` [N, H]: before all steps.

    Of each step [B, H]: h before it, what r is multiplied by, h'.
    """
    size, transposed = weight.shape[1], np.ascontiguousarray(weight.T)
    h = hidden
    for rows in _steps(sizes):
        g, count = gates[rows], rows.stop - rows.start
        before[rows] = h[:count]
        a = before[rows] @ transposed
        a += bias
        g[:, : 2 * size] += a[:, : 2 * size]
        _sigmoid(g[:, : 2 * size])
        r, z, new = _parts(g, 3)
        recalled[rows] = a[:, 2 * size :]
        new += r * recalled[rows]
        np.tanh(new, out=new)
        h = output[rows]
        np.subtract(before[rows], new, out=h)
        h *= z
        h += new


def gru_slopes(
    of_output: Floats,
    gates: Floats,
    weight: Floats,
    sizes: Ints,
    before: Floats,
    recalled: Floats,
    of_gates: Floats,
    of_a: Floats,
) -> None:
    """From the derivative by h' to those by g and by a, [B, 3H], from the last step to the first.

    They differ in the last third, where a is multiplied by r.
    """
    r, z, new = _parts(gates, 3)
    by_new = (1 - z) * (1 - new * new)
    by_z, by_r = (before - new) * z * (1 - z), recalled * r * (1 - r)
    carried = of_output[:0]
    for rows in reversed(list(_steps(sizes))):
        slope = of_output[rows].copy()
        slope[: len(carried)] += carried  # sequences that go on lie first
        (of_r, of_z, of_new), into = _parts(of_gates[rows], 3), of_a[rows]
        np.multiply(slope, by_new[rows], out=of_new)
        np.multiply(of_new, by_r[rows], out=of_r)
        np.multiply(slope, by_z[rows], out=of_z)
        into[:] = of_gates[rows]
        _parts(into, 3)[2][:] *= r[rows]
        carried = into @ weight
        carried += slope * z[rows]


def _steps(sizes: Ints) -> Iterator[slice]:
    """The rows of each step."""
    start = 0
    for count in sizes.tolist():
        yield slice(start, start + count)
        start += count


def _parts(x: Floats, count: int) -> list[Floats]:
    """Views of as many blocks of columns."""
    size = x.shape[1] // count
    return [x[:, k * size : (k + 1) * size] for k in range(count)]


def _sigmoid(x: Floats) -> None:
    """In place; by tanh, which cannot overflow."""
    x *= 0.5
    np.tanh(x, out=x)
    x *= 0.5
    x += 0.5
