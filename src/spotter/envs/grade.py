"""Whether an environment can be brought back to where it was: not argued but tried.

One copy plays, and what it takes to bring it back is written down as a checkpoint would; a second,
fresh copy must then see, bit for bit, what the first one sees from there on.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from spotter import packing
from spotter.envs.slices import Bools, Buffers, Copy
from spotter.envs.vector import SyncVector
from spotter.types import ActionSpec, Tape

_WARM_UP: Final = 100  # steps in which an episode's end is hoped for
_MIDDLES: Final = (60, 25)
"""Steps into an episode, one trial each: a physics engine may get it right by chance once."""
_COMPARED: Final = 30
_PATIENCE_S: Final = 0.2  # per stage; slow games are tried for fewer steps
_SEEDS, _OTHER_SEED = (1, 12), 2


@dataclass(frozen=True, slots=True)
class Grade:
    """How exactly a run can be resumed, and how we know."""

    grade: Literal["exact", "episode boundary"]
    why: str


def try_out(build: Callable[[], Copy], name: str) -> Grade:
    """Resume grade of copies built this way."""
    try:
        trials = [_trial(build, name, *how) for how in zip(_SEEDS, _MIDDLES, strict=True)]
    except Exception as error:  # it will show again, and better, when it matters
        reason = next(iter(str(error).splitlines()), "")
        return _boundary(f"{name} could not be tried out: {type(error).__name__}: {reason}")
    return next((trial for trial in trials if trial.grade != "exact"), trials[0])


def _trial(build: Callable[[], Copy], name: str, seed: int, middle: int) -> Grade:
    draw = np.random.default_rng(seed)
    with SyncVector(build, 1) as first, SyncVector(build, 1) as second:
        tape = _taped(first, draw, seed, middle)
        second.reset([_OTHER_SEED])
        if not second.play([_written_and_read(tape)])[0]:
            return _boundary(f"a fresh copy of {name} could not replay {_steps(tape)}")
        if not _equal(_standing(first.buffers), _standing(second.buffers)):
            return _boundary(f"replaying {_steps(tape)} of {name} gave another observation")
        return _compare(first, second, draw, name, tape)


def _boundary(why: str) -> Grade:
    return Grade("episode boundary", why)


def _steps(tape: Tape) -> str:
    return f"{len(tape.actions)} step{'' if len(tape.actions) == 1 else 's'}"


def _taped(vector: SyncVector, draw: np.random.Generator, seed: int, middle: int) -> Tape:
    """Somewhere within an episode that is not the first, so that random streams matter."""
    vector.reset([seed])
    for _ in _patiently(_WARM_UP):
        if vector.step(_action(vector, draw)):
            break
    vector.begin_anew()
    for _ in _patiently(middle):
        vector.step(_action(vector, draw))
    return vector.tapes()[0]


def _patiently(steps: int) -> Iterator[int]:
    began = perf_counter()
    for step in range(steps):
        yield step
        if perf_counter() - began > _PATIENCE_S:
            return


def _written_and_read(tape: Tape) -> Tape:
    """What is left of a tape after a checkpoint."""
    fields = {"start": tape.start, "seed": tape.seed, "actions": np.array(tape.actions)}
    data, arrays = packing.pack(fields)
    read = packing.unpack(json.loads(json.dumps(data)), arrays)
    return Tape(read["start"], read["seed"], tuple(read["actions"]))


def _compare(
    first: SyncVector, second: SyncVector, draw: np.random.Generator, name: str, tape: Tape
) -> Grade:
    for step in _patiently(_COMPARED):
        action = _action(first, draw)
        episodes = first.step(action)
        same_episodes = second.step(action) == episodes
        if not same_episodes or not _equal(_moved(first.buffers), _moved(second.buffers)):
            return _boundary(
                f"after replaying {_steps(tape)}, a fresh copy of {name} went another way "
                f"{step + 1} step{'s' * (step > 0)} later"
            )
    return Grade("exact", f"a fresh copy of {name} replayed {_steps(tape)} to the same observation")


def _standing(buffers: Buffers) -> list[npt.NDArray[Any]]:
    """What a copy shows before its next step."""
    there = [*buffers.obs.values(), buffers.signals_start]
    return there if buffers.mask is None else [*there, buffers.mask]


def _moved(buffers: Buffers) -> list[npt.NDArray[Any]]:
    """What a step brought, and what is shown after it."""
    ended = buffers.terminated | buffers.truncated
    return [
        *_standing(buffers),
        *(leaf[ended] for leaf in buffers.final_obs.values()),
        *(buffers.reward, buffers.terminated, buffers.truncated, buffers.lost, buffers.signals),
    ]


def _equal(a: list[npt.NDArray[Any]], b: list[npt.NDArray[Any]]) -> bool:
    return all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


def _action(vector: SyncVector, draw: np.random.Generator) -> npt.NDArray[Any]:
    mask = vector.buffers.mask
    return random_action(vector.spaces.action, draw, None if mask is None else mask[0])[None]


def random_action(
    spec: ActionSpec, draw: np.random.Generator, mask: Bools | None
) -> npt.NDArray[Any]:
    """A valid action, as policies give them."""
    if spec.kind == "box":
        return draw.uniform(-1, 1, spec.shape).astype(np.float32)
    if spec.kind == "binary":
        pressed = draw.integers(0, 2, spec.shape)
        return pressed if mask is None else pressed & mask
    parts = np.cumsum((0, *spec.nvec))
    chosen = []
    for start, stop in pairwise(parts):
        valid = np.arange(stop - start) if mask is None else np.flatnonzero(mask[start:stop])
        chosen.append(draw.choice(valid))
    return np.array(chosen).reshape(spec.shape)
