"""The state of an env without its cooperation: what it looked like before a reset, put back.

Replaying the same actions from there brings a fresh env to the same point, bit for bit, if all
that matters at a reset is plain: numbers, text, arrays, containers of these, and random streams.
Objects of other kinds (a physics world, a window) are left to the environment, which usually
creates them again when it is reset. Whether that is enough is tested: see
`envs.make.resume_grade`. Snapshots are trees that `spotter.packing` can write; no pickle.
"""

import contextlib
import gc
import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, Final

import numpy as np

LARGE: Final = 200
"""Things inside from which on a container that the constructor made is taken for a constant."""
_LARGEST: Final = 100_000  # leaves of one attribute; no episode state is larger
_DEEPEST: Final = 12
_NOT_PLAIN: Final = object()
_NUMPY_SCALARS: Final = (
    *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.longlong),
    *(np.uint8, np.uint16, np.uint32, np.uint64, np.ulonglong),
    *(np.float16, np.float32, np.float64),
)
_ATOMS: Final = frozenset({type(None), bool, int, float, str, bytes, *_NUMPY_SCALARS})
_CONTAINERS: Final = frozenset({list, tuple, dict, set, frozenset, deque})
_STREAMS: Final = frozenset({np.random.Generator, np.random.RandomState, random.Random})
_BIT_GENERATORS: Final = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_MISSING: Final = object()

known_names: Final[dict[str, tuple[str, ...]]] = {}
"""Class -> names of its objects' attributes, as far as anybody has looked; see `_attributes`."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where a replay log begins: an env just before a reset, and the seed of that reset."""

    state: Mapping[str, Any]
    seed: int | None


class Layers:
    """The objects an env is made of: wrappers from the outside in, the game, reward signals."""

    def __init__(self, objects: Sequence[object]) -> None:
        self._objects = list(objects)
        self.opened: set[int] = set()
        """Objects that had to be looked at in the way that slows them down."""
        # Transition tables and the like: too large to copy for every episode, and never changed.
        self._constants = [
            {
                name: (value, len(value))
                for name, value in self._attributes(index)
                if _is_large(value)
            }
            for index in range(len(self._objects))
        ]

    def snapshot(self) -> list[dict[str, object]]:
        """Every plain attribute and random stream, copied; an object seen twice is one object."""
        copier = _Copier()
        streams: dict[int, list[object]] = {}
        return [self._layer(index, copier, streams) for index in range(len(self._objects))]

    def _layer(
        self, index: int, copier: "_Copier", streams: dict[int, list[object]]
    ) -> dict[str, object]:
        item, constants = self._objects[index], self._constants[index]
        values: dict[str, object] = {}
        states: dict[str, object] = {}
        for name, value in self._attributes(index):
            kind = type(value)
            if kind in _ATOMS:
                values[name] = value
            elif kind in _STREAMS:
                seen = streams.get(id(value))
                states[name] = {"same": seen} if seen else _stream_state(value)
                streams.setdefault(id(value), [index, name])
            elif kind is np.ndarray or (
                kind in _CONTAINERS and not _is_constant(value, constants.get(name))
            ):
                copied = copier.copy(value)
                if copied is not _NOT_PLAIN:
                    values[name] = copied
        return {"class": type(item).__name__, "values": values, "streams": states}

    def put_back(self, layers: Sequence[Mapping[str, Any]]) -> None:
        """Make the objects look as they did in a snapshot; the snapshot stays untouched."""
        if [layer["class"] for layer in layers] != [type(item).__name__ for item in self._objects]:
            raise ValueError("this snapshot belongs to another stack of wrappers and signals")
        copier = _Copier()
        for item, layer in zip(self._objects, layers, strict=True):
            for name, value in layer["values"].items():
                object.__setattr__(item, name, copier.copy(value))
            for name, state in layer["streams"].items():
                if "same" in state:
                    owner, other = state["same"]
                    stream = _own(self._objects[owner], other)
                else:
                    # In place, so that every other reference to this stream stays valid.
                    stream = _set_stream(_own(item, name), state)
                object.__setattr__(item, name, stream)

    def _attributes(self, index: int) -> Iterable[tuple[str, Any]]:
        """Names and values of an object's own attributes.

        The plain way, `vars`, makes every later access to them slower for good in Python 3.11 and
        3.12 (CartPole loses 15 % of its speed), so names that an earlier object of the class
        taught us are tried first. The garbage collector knows whether that was all.
        """
        item = self._objects[index]
        key = f"{type(item).__module__}.{type(item).__qualname__}"
        names = known_names.get(key, ())
        if index not in self.opened:
            found = _read(item, names)
            if _is_complete(item, found, gc.get_referents(item)):
                return found.items()
            self.opened.add(index)
        found = getattr(item, "__dict__", {})
        known_names[key] = tuple(dict.fromkeys([*names, *found]))
        return found.items()


@cache
def _reader(names: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    return attrgetter(*names)


def _read(item: object, names: tuple[str, ...]) -> dict[str, object]:
    """Those of the attributes that are there."""
    if len(names) > 1:
        with contextlib.suppress(AttributeError):
            return dict(zip(names, _reader(names)(item), strict=True))
    found = ((name, _own(item, name)) for name in names)
    return {name: value for name, value in found if value is not _MISSING}


def _own(item: object, name: str) -> object:
    try:
        return object.__getattribute__(item, name)
    except AttributeError:
        return _MISSING


def _is_complete(item: object, found: Mapping[str, Any], held: Sequence[object]) -> bool:
    """Whether these are all attributes: as many as the object holds, and nothing else is held."""
    kind = type(item)
    missing = len(found) - (len(held) - 1)  # the class itself is held as well
    if missing:  # some of them may be the class's
        of_class = sum(getattr(kind, name, _MISSING) is value for name, value in found.items())
        if not 0 <= missing <= of_class:
            return False
    return {id(kind), *map(id, found.values())}.issuperset(map(id, held))


def _is_large(value: object) -> bool:
    return type(value) in _CONTAINERS and _leaves(value, LARGE + 1) > LARGE


def _leaves(value: Any, most: int) -> int:
    """How many things there are, all the way down; counting stops at `most`."""
    count = 1
    if type(value) not in _CONTAINERS or most <= count:
        return count
    for inner in value.values() if isinstance(value, dict) else value:
        count += _leaves(inner, most - count)
        if count >= most:
            break
    return count


def _is_constant(value: object, known: tuple[Any, int] | None) -> bool:
    return known is not None and known[0] is value and known[1] == len(value)


class _Copier:
    """Deep copies of plain values; each object once, so shared references stay shared."""

    def __init__(self) -> None:
        self._memo: dict[int, object] = {}
        self._left = 0

    def copy(self, value: object) -> object:
        """A copy, or `_NOT_PLAIN` if anything in it is not."""
        self._left = _LARGEST
        return self._copy(value, 0)

    def _copy(self, value: Any, depth: int) -> object:
        kind = type(value)
        if kind in _ATOMS:
            return value
        known = self._memo.get(id(value))
        if known is not None:
            return known
        if kind is np.ndarray:
            copied = value.copy() if _is_plain_dtype(value.dtype) else _NOT_PLAIN
        elif kind in _CONTAINERS and depth < _DEEPEST:
            copied = self._copy_container(value, depth)
        else:
            copied = _NOT_PLAIN
        if copied is not _NOT_PLAIN:
            self._memo[id(value)] = copied
        return copied

    def _copy_container(self, value: Any, depth: int) -> object:
        self._left -= len(value)
        if self._left < 0:
            return _NOT_PLAIN
        inner = value.values() if isinstance(value, dict) else value
        copies = [self._copy(item, depth + 1) for item in inner]
        if any(item is _NOT_PLAIN for item in copies):
            return _NOT_PLAIN
        if isinstance(value, dict):
            if not all(_is_plain_key(key) for key in value):
                return _NOT_PLAIN
            return dict(zip(value, copies, strict=True))
        if isinstance(value, deque):
            return deque(copies, value.maxlen)
        if isinstance(value, set | frozenset) and not _can_be_sorted(value):
            return _NOT_PLAIN  # it could not be written down in a fixed order
        return type(value)(copies)


def _is_plain_dtype(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biufSU" and dtype.isnative and (dtype.kind in "SU" or dtype.itemsize <= 8)


def _is_plain_key(key: object) -> bool:
    if type(key) is tuple:
        return all(_is_plain_key(part) for part in key)
    return type(key) in _ATOMS


def _can_be_sorted(items: Iterable[Any]) -> bool:
    try:
        sorted(items)
    except (TypeError, ValueError):
        return False
    return True


def _stream_state(stream: Any) -> dict[str, object]:
    if isinstance(stream, np.random.Generator):
        return {"kind": "Generator", "state": stream.bit_generator.state}
    if isinstance(stream, np.random.RandomState):
        return {"kind": "RandomState", "state": stream.get_state(legacy=False)}
    return {"kind": "Random", "state": stream.getstate()}


def _set_stream(stream: Any, saved: Mapping[str, Any]) -> object:
    """The stream, or a new one where there is none of its kind, at the saved point."""
    kind, state = saved["kind"], saved["state"]
    if kind == "Generator":
        name = state["bit_generator"]
        fits = isinstance(stream, np.random.Generator)
        if not fits or type(stream.bit_generator).__name__ != name:
            stream = np.random.Generator(_bit_generator(name))
        stream.bit_generator.state = state
        return stream
    make: Callable[[], Any] = {"RandomState": np.random.RandomState, "Random": random.Random}[kind]
    if not isinstance(stream, np.random.RandomState | random.Random) or type(stream) is not make:
        stream = make()
    set_state = stream.set_state if kind == "RandomState" else stream.setstate
    set_state(state)
    return stream


def _bit_generator(name: str) -> Any:
    if name not in _BIT_GENERATORS:
        raise ValueError(f"unknown random stream '{name}'")
    return vars(np.random)[name]()
