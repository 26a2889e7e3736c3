"""Trunk layers: linear, optional layer norm, activation, with hand-derived gradients.

Weights are views of the policy's own memory and gradients are written in place, so nothing is
ever copied between this and the torch module beside it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from spotter.engines import kernels, plain
from spotter.engines.plain import Floats, Scratch, ones, shared_scratch

Codes = npt.NDArray[np.int64]
_SQRT_HALF: Final = math.sqrt(0.5)
_DENSITY_AT_0: Final = 1 / math.sqrt(2 * math.pi)


def view(parameter: Tensor) -> Floats:
    """The same memory as a float32 array."""
    array: Floats = parameter.detach().numpy()
    return array


@dataclass(frozen=True)
class Activation:
    """`apply(z, out)`, and `slope(z, h, out)`, its derivative at z where h is its value."""

    apply: Callable[[Floats, Floats], object]
    slope: Callable[[Floats, Floats, Floats], object]
    needs_input: bool = False
    """Whether `slope` looks at z, which is otherwise overwritten."""


def _tanh_slope(z: Floats, h: Floats, out: Floats) -> None:
    np.multiply(h, h, out=out)
    np.subtract(1, out, out=out)


def _elu(z: Floats, out: Floats) -> None:
    below = np.expm1(np.minimum(z, 0))
    np.maximum(z, 0, out=out)
    out += below


def _elu_slope(z: Floats, h: Floats, out: Floats) -> None:
    np.minimum(h, 0, out=out)
    out += 1


def _sigmoid(z: Floats) -> Floats:
    # exp of a large number overflows to infinity, which gives the right 0
    with np.errstate(over="ignore"):
        s: Floats = (1 / (1 + np.exp(-z))).astype(np.float32, copy=False)
    return s


def _silu_slope(z: Floats, h: Floats, out: Floats) -> None:
    s = _sigmoid(z)
    np.multiply(s, 1 + z * (1 - s), out=out)


def _normal_cdf(z: Floats) -> Floats:
    error = torch.special.erf(torch.from_numpy(z) * _SQRT_HALF).numpy()  # NumPy has none
    cdf: Floats = 0.5 * (1 + error)
    return cdf


def _gelu_slope(z: Floats, h: Floats, out: Floats) -> None:
    density = np.exp(-0.5 * z * z) * np.float32(_DENSITY_AT_0)
    np.add(_normal_cdf(z), z * density, out=out)


ACTIVATIONS: Final[dict[type[nn.Module], Activation]] = {
    nn.Tanh: Activation(lambda z, out: np.tanh(z, out=out), _tanh_slope),
    nn.ReLU: Activation(
        lambda z, out: np.maximum(z, 0, out=out), lambda z, h, out: np.greater(h, 0, out=out)
    ),
    nn.ELU: Activation(_elu, _elu_slope),
    nn.SiLU: Activation(
        lambda z, out: np.multiply(z, _sigmoid(z), out=out), _silu_slope, needs_input=True
    ),
    nn.GELU: Activation(
        lambda z, out: np.multiply(z, _normal_cdf(z), out=out), _gelu_slope, needs_input=True
    ),
}
_KINDS: Final = {nn.Tanh: kernels.TANH, nn.ReLU: kernels.RELU}
"""Activations that the kernels compute along with the matrix product."""
BLAS_FROM: Final = 1 << 17  # weights; from here on its blocking for the cache helps


class Norm:
    """Layer norm over the features of each row."""

    def __init__(self, module: nn.LayerNorm) -> None:
        self.module = module
        self.weight, self.bias = view(module.weight), view(module.bias)
        self._eps = module.eps
        self.gradients: dict[str, Floats] = {}

    def forward(self, z: Floats) -> None:
        """In place."""
        width = z.shape[1]
        z -= z.sum(axis=1, keepdims=True) / width
        self._rate = 1 / np.sqrt(np.einsum("bi,bi->b", z, z) / width + self._eps)[:, None]
        self._unit: Floats = z * self._rate
        np.multiply(self._unit, self.weight, out=z)
        z += self.bias

    def backward(self, d: Floats) -> None:
        """In place: from the derivative by the output to that by the input."""
        width = d.shape[1]
        self.gradients["weight"][:] = np.einsum("bi,bi->i", d, self._unit)
        np.add.reduce(d, axis=0, out=self.gradients["bias"])
        d *= self.weight
        along = np.einsum("bi,bi->b", d, self._unit)[:, None] / width
        d -= d.sum(axis=1, keepdims=True) / width
        d -= self._unit * along
        d *= self._rate


class Layer:
    """Linear, optional norm, activation."""

    def __init__(self, linear: nn.Linear, norm: nn.LayerNorm | None, activation: nn.Module) -> None:
        self.linear = linear
        self.weight, self.bias = view(linear.weight), view(linear.bias)
        self.norm = Norm(norm) if norm is not None else None
        self._activation = ACTIVATIONS[type(activation)]
        self._kind = kernels.LINEAR if norm else _KINDS.get(type(activation), kernels.LINEAR)
        self._by = plain if self.weight.size >= BLAS_FROM else kernels
        self.gradients: dict[str, Floats] = {}
        width = linear.out_features
        self._out, self._pre = Scratch(width), Scratch(width)
        self._slope = shared_scratch(width, "slope")

    def forward(self, x: Any) -> Floats:
        """`x`: [B, in] floats, or [B, k] places of ones in otherwise empty rows."""
        self._x = x
        h = self._out.rows(len(x))
        z = self._pre.rows(len(x)) if self._activation.needs_input else h
        has_codes = x.dtype == np.int64
        if has_codes:
            np.add.reduce(self.weight.T[x], axis=1, out=z)
            z += self.bias
        else:
            self._by.forward(x, self.weight, self.bias, z, self._kind)
        if has_codes or self._kind == kernels.LINEAR:
            if self.norm is not None:
                self.norm.forward(z)
            self._activation.apply(z, h)
        self._z, self._h = z, h
        return h

    def backward(self, d: Floats, to_input: Floats | None) -> None:
        """`d` (overwritten) is the derivative by the output; `to_input` receives that by x."""
        x, gradients = self._x, self.gradients
        has_codes = x.dtype == np.int64
        if has_codes or self._kind == kernels.LINEAR:
            slope = self._slope.rows(len(d))
            self._activation.slope(self._z, self._h, slope)
            d *= slope
            if self.norm is not None:
                self.norm.backward(d)
        if has_codes:
            _scatter(x, d, gradients["weight"])
            np.matmul(ones(len(d)), d, out=gradients["bias"])
        else:
            self._by.backward(
                d,
                self._h,
                x,
                self.weight,
                gradients["weight"],
                gradients["bias"],
                to_input,
                self._kind,
            )


def _scatter(codes: Codes, d: Floats, out: Floats) -> None:
    """out[:, codes[b, k]] += d[b], from zero; rows of equal code are summed in one sweep."""
    out[...] = 0.0
    for column in codes.T:
        order = column.argsort(kind="stable")
        places = column[order]
        starts = np.flatnonzero(np.diff(places, prepend=-1))
        out[:, places[starts]] += np.add.reduceat(d[order], starts, axis=0).T


class Tower:
    """Layers one after another; the counterpart of a trunk."""

    def __init__(self, trunk: Iterable[nn.Module]) -> None:
        modules = list(trunk)
        self.layers: list[Layer] = []
        while modules:
            linear = modules.pop(0)
            norm = modules.pop(0) if isinstance(modules[0], nn.LayerNorm) else None
            assert isinstance(linear, nn.Linear)
            assert norm is None or isinstance(norm, nn.LayerNorm)
            self.layers.append(Layer(linear, norm, modules.pop(0)))
        # layers take turns, so two are enough for all of them
        self._between = [
            shared_scratch(layer.weight.shape[1], f"between {index % 2}")
            for index, layer in enumerate(self.layers)
        ]

    def forward(self, x: object) -> Any:
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, d: Floats, to_input: Floats | None = None) -> None:
        """`d` (overwritten): the derivative by the output; `to_input` receives that by x."""
        for index in range(len(self.layers) - 1, -1, -1):
            below = self._between[index].rows(len(d)) if index else to_input
            self.layers[index].backward(d, below)
            if below is not None:
                d = below

    def outputs(self) -> list[Floats]:
        """Of every layer, from the latest `forward`."""
        return [layer._h for layer in self.layers]


class Joined:
    """A sub-network for each of several leaves, side by side, and one on top of all."""

    def __init__(self, leaves: Sequence[Iterable[nn.Module]], trunk: Iterable[nn.Module]) -> None:
        self._leaves, self._trunk = [Tower(leaf) for leaf in leaves], Tower(trunk)
        self.layers = [layer for tower in self._leaves for layer in tower.layers]
        inputs = [tower.layers[0].linear.in_features for tower in self._leaves]
        outputs = [tower.layers[-1].linear.out_features for tower in self._leaves]
        self._inputs, self._outputs = _columns(inputs), _columns(outputs)
        self._out, self._slope = Scratch(sum(outputs)), shared_scratch(sum(outputs), "joined")
        self.layers += self._trunk.layers

    def forward(self, x: Floats) -> Floats:
        """`x`: [B, in], the leaves one beside the other."""
        joined = self._out.rows(len(x))
        for tower, inputs, outputs in zip(self._leaves, self._inputs, self._outputs, strict=True):
            joined[:, outputs] = tower.forward(x[:, inputs])
        out: Floats = self._trunk.forward(joined)
        return out

    def backward(self, d: Floats) -> None:
        """`d` (overwritten): the derivative by the output."""
        if self._trunk.layers:
            to_joined = self._slope.rows(len(d))
            self._trunk.backward(d, to_joined)
            d = to_joined
        for tower, outputs in zip(self._leaves, self._outputs, strict=True):
            tower.backward(d[:, outputs])

    def outputs(self) -> list[Floats]:
        """Of every layer, from the latest `forward`."""
        return [layer._h for layer in self.layers]


def _columns(widths: Sequence[int]) -> list[slice]:
    """Where each of some blocks lies in a row that holds all of them."""
    ends = list(accumulate(widths))
    return [slice(end - width, end) for end, width in zip(ends, widths, strict=True)]
