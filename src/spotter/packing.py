"""Trees of plain values as JSON and arrays, and back exactly: what checkpoints are made of.

JSON knows neither tuples nor numbers that are not finite, so such values carry a tag (a key that
begins with `$`). Arrays are left out and named by their path; they travel as safetensors. Nothing
here can run code when it is read.
"""

import base64
import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[Any]]


def pack(tree: object) -> tuple[object, Arrays]:
    """JSON-able data and the arrays it refers to."""
    arrays: Arrays = {}
    return _pack(tree, "", arrays), arrays


def unpack(data: object, arrays: Mapping[str, npt.NDArray[Any]]) -> Any:
    """What `pack` was given; arrays are copies."""
    if isinstance(data, list):
        return [unpack(item, arrays) for item in data]
    if not isinstance(data, dict):
        return data
    tag = next(iter(data), "")
    if not tag.startswith("$"):
        return {key: unpack(value, arrays) for key, value in data.items()}
    return _TAGS[tag](data, arrays)


def _pack(value: object, path: str, arrays: Arrays) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, np.ndarray):
        return _pack_array(value, path, arrays)
    if isinstance(value, np.generic):
        return {"$scalar": value.dtype.str, "value": _pack(value.item(), path, arrays)}
    if isinstance(value, int | str | float):
        return _pack_plain(value)
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return _pack_map(value, path, arrays)
    if isinstance(value, list | tuple | deque | set | frozenset):
        return _pack_items(value, path, arrays)
    raise TypeError(f"{path or 'value'} is a {type(value).__name__}, which cannot be saved")


def _pack_array(value: npt.NDArray[Any], path: str, arrays: Arrays) -> object:
    if value.dtype.kind in "SU":
        words = np.char.decode(value, "latin-1") if value.dtype.kind == "S" else value
        return {"$words": value.dtype.str, "items": words.tolist()}
    if value.dtype.kind not in "biuf":
        raise TypeError(f"{path or 'value'} is an array of {value.dtype}, which cannot be saved")
    name = f"{len(arrays)}{path}"  # numbered: a key may hold a slash and look like another's path
    arrays[name] = np.ascontiguousarray(value)
    return {"$array": name, "shape": list(value.shape)}


def _pack_plain(value: float | str) -> object:
    """Readers of our JSON take the word `nan` for the number, so such text is marked."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": f"={value}"}
    if isinstance(value, str) and value in ("nan", "inf", "-inf"):
        return {"$text": f"={value}"}
    return value


def _pack_map(value: Mapping[object, object], path: str, arrays: Arrays) -> object:
    if all(isinstance(key, str) and not key.startswith("$") for key in value):
        return {key: _pack(inner, f"{path}/{key}", arrays) for key, inner in value.items()}
    pairs = enumerate(value.items())
    return {
        "$dict": [
            [_pack(key, f"{path}/{i}k", arrays), _pack(inner, f"{path}/{i}", arrays)]
            for i, (key, inner) in pairs
        ]
    }


def _pack_items(value: Any, path: str, arrays: Arrays) -> object:
    ordered = sorted(value) if isinstance(value, set | frozenset) else value
    items = [_pack(item, f"{path}/{i}", arrays) for i, item in enumerate(ordered)]
    if isinstance(value, list):
        return items
    if isinstance(value, deque):
        return {"$deque": items, "maxlen": value.maxlen}
    kind = "tuple" if isinstance(value, tuple) else type(value).__name__  # named tuples as tuples
    return {f"${kind}": items}


def _array(data: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.array(arrays[data["$array"]]).reshape(data["shape"])


_TAGS: dict[str, Callable[[dict[str, Any], Mapping[str, npt.NDArray[Any]]], Any]] = {
    "$array": _array,
    "$words": lambda data, arrays: np.array(data["items"]).astype(data["$words"]),
    "$scalar": lambda data, arrays: np.dtype(data["$scalar"]).type(unpack(data["value"], arrays)),
    "$float": lambda data, arrays: float(data["$float"][1:]),
    "$text": lambda data, arrays: data["$text"][1:],
    "$bytes": lambda data, arrays: base64.b64decode(data["$bytes"]),
    "$dict": lambda data, arrays: {
        unpack(key, arrays): unpack(value, arrays) for key, value in data["$dict"]
    },
    "$tuple": lambda data, arrays: tuple(unpack(data["$tuple"], arrays)),
    "$set": lambda data, arrays: set(unpack(data["$set"], arrays)),
    "$frozenset": lambda data, arrays: frozenset(unpack(data["$frozenset"], arrays)),
    "$deque": lambda data, arrays: deque(unpack(data["$deque"], arrays), data["maxlen"]),
}
