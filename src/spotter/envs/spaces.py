"""Gymnasium spaces as flat leaves: what policies are built from, what buffers are made of.

Observations of any nesting become one array per leaf, keyed by path (`obs`, `camera/left`, `0`).
Images become channels-first. Box actions are in [-1, 1] on the policy's side and scaled to the
space's finite bounds here.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from gymnasium import spaces as gs

from spotter.types import ActionSpec, Array, Leaf, Obs, Spaces, UserError

_UNBOUNDED = 1e6  # Gymnasium writes "no bound" as inf or as the largest float


def describe(observation: gs.Space[Any], action: gs.Space[Any]) -> Spaces:
    """The policy's view of a pair of spaces; an unsupported one is a `UserError`."""
    leaves = {path: _leaf(space) for path, space, _ in _flatten(observation)}
    return Spaces(observation=leaves, action=_action(action))


def _flatten(
    space: gs.Space[Any], path: str = "", get: Callable[[Any], Any] = lambda obs: obs
) -> Iterator[tuple[str, gs.Space[Any], Callable[[Any], Any]]]:
    """Every leaf space with its path and a function that picks it out of an observation."""
    children: Any = None
    if isinstance(space, gs.Dict):
        children = space.spaces.items()
    elif isinstance(space, gs.Tuple):
        children = enumerate(space.spaces)
    if children is None:
        yield path or "obs", space, get
        return
    for key, child in children:
        inner = f"{path}/{key}" if path else str(key)
        yield from _flatten(child, inner, _picker(get, key))


def _picker(get: Callable[[Any], Any], key: Any) -> Callable[[Any], Any]:
    return lambda obs: get(obs)[key]


def _leaf(space: gs.Space[Any]) -> Leaf:
    if isinstance(space, gs.Discrete):
        return Leaf("discrete", (), "int64", nvec=(int(space.n),))
    if isinstance(space, gs.MultiDiscrete):
        nvec = tuple(int(n) for n in space.nvec.ravel())
        return Leaf("multi_discrete", (len(nvec),), "int64", nvec=nvec)
    if isinstance(space, gs.MultiBinary):
        return Leaf("binary", (int(np.prod(space.shape)),), "float32")
    if isinstance(space, gs.Box):
        return _box_leaf(space)
    raise UserError(
        f"observation space {space} is not supported; "
        "supported are Box, Discrete, MultiDiscrete, MultiBinary, and Dict or Tuple of these"
    )


def _box_leaf(space: gs.Box) -> Leaf:
    is_picture = len(space.shape) == 3 or (len(space.shape) == 2 and space.dtype == np.uint8)
    if is_picture:
        shape = _channels_first(np.empty(space.shape, dtype=np.bool_)).shape
        return Leaf("image", shape, "uint8" if space.dtype == np.uint8 else "float32")
    low, high = space.low.ravel(), space.high.ravel()
    return Leaf(
        "vector",
        (int(np.prod(space.shape)),),
        "float32",
        low=tuple(float(x) if abs(x) < _UNBOUNDED else -np.inf for x in low),
        high=tuple(float(x) if abs(x) < _UNBOUNDED else np.inf for x in high),
    )


def _channels_first(image: Array) -> Array:
    """[H, W], [H, W, C] or [C, H, W] as [C, H, W]; channels are the shorter outer axis."""
    if image.ndim == 2:
        return image[None]
    return image if image.shape[0] < image.shape[2] else np.moveaxis(image, -1, 0)


def _action(space: gs.Space[Any]) -> ActionSpec:
    if isinstance(space, gs.Discrete):
        return ActionSpec("discrete", (), nvec=(int(space.n),))
    if isinstance(space, gs.MultiDiscrete):
        nvec = tuple(int(n) for n in space.nvec.ravel())
        return ActionSpec("multi_discrete", (len(nvec),), nvec=nvec)
    if isinstance(space, gs.MultiBinary):
        return ActionSpec("binary", (int(np.prod(space.shape)),))
    if isinstance(space, gs.Box) and np.issubdtype(space.dtype, np.floating):
        return ActionSpec("box", (int(np.prod(space.shape)),))
    raise UserError(
        f"action space {space} is not supported; "
        "supported are Discrete, MultiDiscrete, MultiBinary and Box of floats"
    )


class ObsCodec:
    """Writes one environment's observation into row `row` of leaf buffers."""

    def __init__(self, space: gs.Space[Any]) -> None:
        self._writers = [
            (path, get, _encoder(leaf_space)) for path, leaf_space, get in _flatten(space)
        ]

    def write(self, obs: Any, buffers: Obs, row: int) -> None:
        for path, get, encode in self._writers:
            buffers[path][row] = encode(get(obs))


def _encoder(space: gs.Space[Any]) -> Callable[[Any], Any]:
    leaf = _leaf(space)
    if isinstance(space, gs.Discrete):
        start = int(space.start)
        return (lambda x: x - start) if start else (lambda x: x)
    if isinstance(space, gs.MultiDiscrete):
        begin = space.start
        return lambda x: (np.asarray(x) - begin).ravel()
    if leaf.kind == "image":
        return _channels_first
    if len(space.shape or ()) == 1:
        return lambda x: x
    return lambda x: np.asarray(x).ravel()


class ActionCodec:
    """Turns a row of the action buffer into what the environment's `step` expects."""

    def __init__(self, space: gs.Space[Any]) -> None:
        self.decode: Callable[[Any], Any]
        if isinstance(space, gs.Discrete):
            start = int(space.start)
            self.decode = lambda a: int(a) + start
        elif isinstance(space, gs.MultiDiscrete):
            shape, begin = space.nvec.shape, space.start
            self.decode = lambda a: a.reshape(shape) + begin
        elif isinstance(space, gs.MultiBinary):
            binary_shape = space.shape
            self.decode = lambda a: a.reshape(binary_shape).astype(np.int8)
        else:
            assert isinstance(space, gs.Box)
            self.decode = _box_decoder(space)


def _box_decoder(space: gs.Box) -> Callable[[Any], Any]:
    low, high = space.low.ravel().astype(np.float64), space.high.ravel().astype(np.float64)
    bounded = (np.abs(low) < _UNBOUNDED) & (np.abs(high) < _UNBOUNDED)
    centre = np.where(bounded, (low + high) / 2, 0.0)
    radius = np.where(bounded, (high - low) / 2, 1.0)
    limit = np.where(bounded, 1.0, np.inf)

    def decode(action: Any) -> Any:
        scaled = centre + radius * np.clip(action, -limit, limit)
        return np.clip(scaled, low, high).reshape(space.shape).astype(space.dtype)

    return decode


def encode_mask(mask: Any) -> Array:
    """A valid-action mask as one flat boolean row; tuples (MultiDiscrete) are joined."""
    if isinstance(mask, tuple | list):
        mask = np.concatenate([np.asarray(part).ravel() for part in mask])
    return np.asarray(mask).ravel().astype(np.bool_)
