"""Gymnasium spaces as plain data and back: how a checkpoint keeps what its environment speaks."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from gymnasium import spaces as gs

from spotter.envs.spaces import Space
from spotter.types import Array, EnvSpaces

_MOST_NUMBERS: Final = 100_000_000
"""In one observation or action; each bound of a Box is an array of that size."""


def pack(spaces: EnvSpaces) -> dict[str, object]:
    return {"observation": _pack(spaces.observation), "action": _pack(spaces.action)}


def unpack(data: Mapping[str, Any]) -> EnvSpaces:
    return EnvSpaces(_unpack(data["observation"]), _unpack(data["action"]))


def _pack(space: Space) -> dict[str, object]:
    """Of the spaces that `spaces.describe` supports."""
    if isinstance(space, gs.Dict):
        # pairs: a key may be a number, which a JSON object would turn into text
        return {"type": "Dict", "spaces": [[key, _pack(s)] for key, s in space.spaces.items()]}
    if isinstance(space, gs.Tuple):
        return {"type": "Tuple", "spaces": [_pack(child) for child in space.spaces]}
    if isinstance(space, gs.Discrete):
        return {"type": "Discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, gs.MultiDiscrete):
        own = {"nvec": space.nvec.tolist(), "start": space.start.tolist()}
        return {"type": "MultiDiscrete", **own, "dtype": str(space.dtype)}
    if isinstance(space, gs.MultiBinary):
        n = list(space.n) if isinstance(space.n, tuple) else int(space.n)
        return {"type": "MultiBinary", "n": n}
    if isinstance(space, gs.Text):
        letters = "".join(sorted(space.character_set))
        lengths = {"min_length": space.min_length, "max_length": space.max_length}
        return {"type": "Text", **lengths, "charset": letters}
    assert isinstance(space, gs.Box)
    bounds = {"low": _bound(space.low), "high": _bound(space.high)}
    return {"type": "Box", "shape": list(space.shape), "dtype": str(space.dtype), **bounds}


def _bound(bound: Array) -> object:
    """One number where all are equal, as in images."""
    equal = bound.size and (bound == bound.flat[0]).all()
    return bound.flat[0].item() if equal else bound.tolist()


def _unpack(data: Mapping[str, Any]) -> Space:
    kind = data["type"]
    if kind == "Dict":
        return gs.Dict([(key, _unpack(child)) for key, child in data["spaces"]])
    if kind == "Tuple":
        return gs.Tuple([_unpack(child) for child in data["spaces"]])
    if kind == "Discrete":
        return gs.Discrete(data["n"], start=data["start"])
    if kind == "MultiDiscrete":
        nvec, start = np.array(data["nvec"]), np.array(data["start"])
        return gs.MultiDiscrete(nvec, dtype=np.dtype(data["dtype"]).type, start=start)
    if kind == "MultiBinary":
        return gs.MultiBinary(data["n"])
    if kind == "Text":
        lengths = {name: data[name] for name in ("min_length", "max_length")}
        return gs.Text(charset=data["charset"], **lengths)
    if kind == "Box":
        dtype, shape = np.dtype(data["dtype"]), tuple(data["shape"])
        if math.prod(shape) > _MOST_NUMBERS:
            raise ValueError(f"a Box of shape {shape} has more than {_MOST_NUMBERS:,} numbers")
        low, high = (
            np.array(np.broadcast_to(np.array(data[name], dtype), shape))
            for name in ("low", "high")
        )
        return gs.Box(low, high, shape, dtype.type)
    raise ValueError(f"unknown space '{kind}'")
