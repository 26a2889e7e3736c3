"""The border between an environment and a policy: Gymnasium spaces as flat leaves, and back.

Observations of any nesting become one array per leaf, keyed by path (`obs`, `camera/left`, `0`).
Images become channels-first, whole numbers count from 0. Box actions are in [-1, 1] on the policy's
side and scaled to the space's finite bounds here. Back-ends convert one observation and one action
at a time, `policy.predict` single ones or batches, both by the functions of this file.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces as gs

from spotter.envs.scale import UNBOUNDED, Scale
from spotter.types import ActionSpec, Array, EnvSpaces, Leaf, Obs, Spaces, UserError

Space = gs.Space[Any]
"""Whatever its elements are."""
_MOST_LETTERS = 2**16  # one-hot inputs of a text
_SEVERAL = (list, tuple, np.ndarray)
_SUPPORTED = (gs.Box, gs.Discrete, gs.MultiDiscrete, gs.MultiBinary, gs.Text)


def describe(observation: Space, action: Space) -> Spaces:
    """The policy's view of a pair of spaces; an unsupported one is a `UserError`."""
    leaves = {path: _checked_leaf(observation, path, s) for path, s, _ in _flatten(observation)}
    if not leaves:
        raise UserError(f"the observation space {observation} is empty; put a space into it")
    return Spaces(leaves, _action(action), EnvSpaces(observation, action))


def _flatten(
    space: Space, path: str = "", get: Callable[[Any], Any] = lambda obs: obs
) -> Iterator[tuple[str, Space, Callable[[Any], Any]]]:
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


def _picker(get: Callable[[Any], Any], key: Any) -> Callable[[object], object]:
    return lambda obs: get(obs)[key]


def _checked_leaf(observation: Space, path: str, space: Space) -> Leaf:
    """A leaf of the policy, or one sentence about what is wrong with it and what to do."""
    whole = space is observation
    what = f"the observation space {_short(space)}" if whole else f"{path} of the observation"
    drop = f"leave it out by env.drop: [{path}], or " if _can_drop(observation, path) else ""
    if not isinstance(space, _SUPPORTED):
        kind = "" if whole else f" is {_short(space)}, which"
        raise UserError(
            f"{what}{kind} is not supported; {drop}make it Box, Discrete, MultiDiscrete, "
            "MultiBinary, Text, or a Dict or Tuple of these"
        )
    leaf = _leaf(space)
    if 0 in leaf.shape:
        shape = list(space.shape or ())
        raise UserError(f"{what} has shape {shape}: no numbers; {drop}give it at least one")
    if isinstance(space, gs.Text) and sum(leaf.nvec) > _MOST_LETTERS:
        raise UserError(
            f"{what} is Text of up to {space.max_length} of {len(space.character_set)} characters: "
            f"{sum(leaf.nvec):,} inputs are too many; {drop}lower its max_length"
        )
    return leaf


def _can_drop(observation: Space, path: str) -> bool:
    """`env.drop` reaches what lies in nothing but Dicts."""
    for key in path.split("/"):
        if not isinstance(observation, gs.Dict):
            return False
        observation = observation.spaces.get(key, observation)
    return True


def _short(space: Space) -> str:
    text = " ".join(str(space).split())
    return f"{text[:60]}{'…' * (len(text) > 60)}"


def _leaf(space: Space) -> Leaf:
    if isinstance(space, gs.Discrete):
        return Leaf("discrete", (), "int64", nvec=(int(space.n),))
    if isinstance(space, gs.MultiDiscrete):
        nvec = tuple(int(n) for n in space.nvec.ravel())
        return Leaf("multi_discrete", (len(nvec),), "int64", nvec=nvec)
    if isinstance(space, gs.MultiBinary):
        return Leaf("binary", (int(np.prod(space.shape)),), "float32")
    if isinstance(space, gs.Text):
        # a code for each place, 0 behind the end: one-hot, order and length are all there
        nvec = (len(space.character_set) + 1,) * space.max_length
        return Leaf("multi_discrete", (space.max_length,), "int64", nvec=nvec)
    assert isinstance(space, gs.Box)
    return _box_leaf(space)


def _box_leaf(space: gs.Box) -> Leaf:
    if is_image(space):
        shape = _channels_first(space)(np.empty(space.shape, dtype=np.bool_)).shape
        return Leaf("image", shape, "uint8" if space.dtype == np.uint8 else "float32")
    low, high = space.low.ravel(), space.high.ravel()
    return Leaf(
        "vector",
        (int(np.prod(space.shape)),),
        "float32",
        low=tuple(float(x) if abs(x) < UNBOUNDED else -np.inf for x in low),
        high=tuple(float(x) if abs(x) < UNBOUNDED else np.inf for x in high),
    )


def is_image(space: gs.Box) -> bool:
    return len(space.shape) == 3 or (len(space.shape) == 2 and space.dtype == np.uint8)


def _channels_first(space: gs.Box) -> Callable[[Any], Any]:
    """From […, H, W], […, H, W, C] or […, C, H, W] to […, C, H, W].

    Channels are the shorter of the outer axes.
    """
    if len(space.shape) == 2:
        return lambda image: image[..., None, :, :]
    if space.shape[0] < space.shape[2]:
        return lambda image: image
    return lambda image: np.moveaxis(image, -1, -3)


def _action(space: Space) -> ActionSpec:
    if isinstance(space, gs.Discrete):
        return ActionSpec("discrete", (), nvec=(int(space.n),))
    if isinstance(space, gs.MultiDiscrete):
        nvec = tuple(int(n) for n in space.nvec.ravel())
        return ActionSpec("multi_discrete", (len(nvec),), nvec=nvec)
    if isinstance(space, gs.MultiBinary):
        return ActionSpec("binary", (int(np.prod(space.shape)),))
    if isinstance(space, gs.Box) and np.issubdtype(space.dtype, np.floating):
        if 0 in space.shape:
            raise UserError(f"the action space {space} has no numbers; give it at least one")
        return ActionSpec("box", (int(np.prod(space.shape)),))
    raise UserError(
        f"action space {space} is not supported; "
        "supported are Discrete, MultiDiscrete, MultiBinary and Box of floats"
    )


# --- observations --------------------------------------------------------------------------------


class ObsCodec:
    """From what an environment shows to the leaves a policy sees."""

    def __init__(self, space: Space) -> None:
        self._leaves = [
            (path, get, leaf_space, _encoder(path, leaf_space))
            for path, leaf_space, get in _flatten(space)
        ]
        self._writers = [(path, get, encode) for path, get, _, encode in self._leaves]

    def write(self, obs: Any, buffers: Obs, row: int) -> None:
        """One observation into row `row` of leaf buffers."""
        try:
            for path, get, encode in self._writers:
                buffers[path][row] = encode(get(obs))
        except (ValueError, TypeError, LookupError) as error:
            raise ValueError(f"an observation does not fit its space: {self._why(obs)}") from error

    def check(self, obs: Any) -> None:
        """Refuse a first observation that is not what its space says."""
        if why := self._why(obs):
            raise UserError(f"the first observation does not fit its space: {why}")

    def _why(self, obs: Any) -> str:
        """What an observation has that its space has not, as a clause; empty if nothing."""
        try:
            return "" if self.batch(obs)[1] else "it is a batch of observations"
        except UserError as error:
            return str(error)

    def batch(self, obs: Any) -> tuple[Obs, bool]:
        """Leaves with a batch axis, and whether it had to be added.

        A batch is what Gymnasium's vector environments return: every leaf with one axis in front.
        """
        leaves: Obs = {}
        sizes: dict[str, int | None] = {}
        for path, get, space, encode in self._leaves:
            array = _as_array(path, space, _picked(path, get, obs))
            depth = array.ndim - len(_shape(space))
            sizes[path] = len(array) if depth else None
            _check_range(path, space, array)
            encoded = np.asarray(encode(array if depth else array[None]), _leaf(space).dtype)
            leaves[path] = np.ascontiguousarray(encoded)
        if len(set(sizes.values())) > 1:
            said = ", ".join(f"{path} {size or 'single'}" for path, size in sizes.items())
            raise UserError(f"the leaves of this observation are not one batch: {said}")
        return leaves, None in sizes.values()


def _picked(path: str, get: Callable[[Any], Any], obs: Any) -> object:
    try:
        return get(obs)
    except (LookupError, TypeError) as error:
        there = f"; it has {', '.join(map(str, obs))}" if isinstance(obs, Mapping) else ""
        raise UserError(f"the observation has no {path}{there}") from error


def _as_array(path: str, space: Space, value: Any) -> Array:
    """One value of a leaf space, or one axis of them; texts as codes."""
    shape = _shape(space)
    if isinstance(space, gs.Text):
        spell, is_one = _speller(path, space), isinstance(value, str)
        texts: Any = [value] if is_one else value if isinstance(value, _SEVERAL) else [None]
        if not all(isinstance(text, str) for text in texts):
            raise UserError(f"{path} should be text, not {type(value).__name__}")
        value = [spell(text) for text in texts]
        value = value[0] if is_one else value
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise UserError(f"{path} should have shape {list(shape)}: {error}") from error
    depth = array.ndim - len(shape)
    if depth not in (0, 1) or array.shape[depth:] != shape:
        raise UserError(
            f"{path} should have shape {list(shape)}, or one axis more for a batch, "
            f"not {list(array.shape)}"
        )
    if array.dtype.kind not in "biuf":
        raise UserError(f"{path} should hold numbers, not {array.dtype}")
    return array


def _check_range(path: str, space: Space, array: Array) -> None:
    """Whole numbers outside their space have no code."""
    if isinstance(space, gs.Discrete | gs.MultiDiscrete):
        count = space.n if isinstance(space, gs.Discrete) else space.nvec
        inside: object = (array >= space.start) & (array < space.start + count)
        if not (inside & (array == np.floor(array))).all():
            raise UserError(f"{path} should be in {space}, not {array.tolist()}")


def _shape(space: Space) -> tuple[int, ...]:
    return (space.max_length,) if isinstance(space, gs.Text) else space.shape or ()


def _speller(path: str, space: gs.Text) -> Callable[[str], Array]:
    """Codes of a text's characters, from 1 on in the order of the alphabet; 0 fills the rest."""
    # sorted: a set of characters has another order in every process
    codes = {char: code for code, char in enumerate(sorted(space.character_set), start=1)}
    length = space.max_length

    def spell(text: str) -> Array:
        if len(text) > length:
            raise UserError(
                f"{path} is {len(text)} characters long, but its space has a max_length of {length}"
            )
        spelt = np.zeros(length, np.int64)
        try:
            spelt[: len(text)] = [codes[char] for char in text]
        except KeyError as error:
            raise UserError(
                f"{path} holds {error.args[0]!r}, which is not in the charset of its Text space"
            ) from error
        return spelt

    return spell


def _encoder(path: str, space: Space) -> Callable[[Any], Any]:
    """From the value of a leaf space to the policy's leaf; leading axes stay in front."""
    if isinstance(space, gs.Discrete):
        start = int(space.start)
        return (lambda x: x - start) if start else (lambda x: x)
    if isinstance(space, gs.MultiDiscrete):
        begin, flat = space.start, _flattener(space.nvec.ndim)
        return lambda x: flat(np.asarray(x) - begin)
    if isinstance(space, gs.Box) and is_image(space):
        return _channels_first(space)
    if isinstance(space, gs.Text):
        spell = _speller(path, space)
        return lambda x: spell(x) if isinstance(x, str) else x
    return _flattener(len(space.shape or ()))


def _flattener(axes: int) -> Callable[[object], object]:
    """The last `axes` axes as one."""
    if axes == 1:
        return lambda x: x

    def flat(x: Any) -> object:
        array = np.asarray(x)
        return array.reshape(*array.shape[: array.ndim - axes], -1)

    return flat


# --- actions -------------------------------------------------------------------------------------


class ActionCodec:
    """From the policy's action to what the environment's `step` expects."""

    decode: Callable[[Any], Any]
    """A row of the action buffer."""
    decode_batch: Callable[[Any], Any]
    """[B, …] of them."""

    def __init__(self, space: Space) -> None:
        if isinstance(space, gs.Discrete):
            start, dtype = int(space.start), space.dtype
            self.decode = lambda a: int(a) + start
            self.decode_batch = lambda a: (a + start if start else a).astype(dtype, copy=False)
            return
        if isinstance(space, gs.MultiDiscrete):
            self.decode = _shaped(space, lambda a: a + space.start.ravel())
        elif isinstance(space, gs.MultiBinary):
            self.decode = _shaped(space, lambda a: a)
        else:
            assert isinstance(space, gs.Box)
            self.decode = _shaped(space, Scale.between(space.low, space.high).to_env)
        self.decode_batch = self.decode


def _shaped(space: Space, convert: Callable[[Any], Any]) -> Callable[[object], object]:
    """The last axis in the shape of the space, and all of it in its dtype."""
    shape, dtype = space.shape or (), space.dtype

    def decode(action: Any) -> Any:
        lead = action.shape[:-1]
        return convert(action).reshape(lead + shape).astype(dtype, copy=False)

    return decode


# --- masks ---------------------------------------------------------------------------------------


def encode_mask(mask: object) -> Array:
    """A valid-action mask as one flat boolean row; tuples (MultiDiscrete) are joined."""
    if isinstance(mask, tuple | list):
        mask = np.concatenate([np.asarray(part).ravel() for part in mask])
    return np.asarray(mask).ravel().astype(np.bool_)


def encode_masks(mask: Any, rows: int | None, action: ActionSpec) -> Array:
    """[rows, entries] for a batch of observations; one row where `rows` is None."""
    size = action.mask_size
    if not size:
        raise UserError("Box actions have no masks; leave mask out")
    try:
        if rows is None:
            array = encode_mask(mask)[None]
        elif isinstance(mask, tuple):
            array = np.concatenate([np.asarray(part).reshape(rows, -1) for part in mask], axis=1)
        else:
            array = np.asarray(mask)
    except ValueError:
        array = np.empty(0)
    if array.shape != (rows or 1, size):
        each = "" if rows is None else f" for each of {rows} observations"
        raise UserError(f"mask should have {size} entries{each}, not shape {list(np.shape(mask))}")
    valid = array.astype(np.bool_)
    parts = np.split(valid, np.cumsum(action.nvec)[:-1], axis=1) if action.nvec else []
    if not all(part.any(1).all() for part in parts):
        raise UserError("mask leaves no valid action")
    return valid
