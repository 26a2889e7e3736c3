"""Whether an environment can be brought back to where it was: not argued but tried.

One env plays, and its state is recorded as in a checkpoint; a second,
fresh env must then see, bit for bit, what the first one sees from there on.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Final, Literal

import numpy as np

from spotter import packing
from spotter.envs.backends.local import LocalVector
from spotter.envs.backends.slices import Bools, Buffers, EnvInstance
from spotter.types import ActionSpec, Array, ReplayLog

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


def try_out(build: Callable[[], EnvInstance], name: str) -> Grade:
    """Resume grade of envs built this way."""
    try:
        trials = [_trial(build, name, *how) for how in zip(_SEEDS, _MIDDLES, strict=True)]
    except Exception as error:  # it will show again, and better, when it matters
        reason = next(iter(str(error).splitlines()), "")
        return _boundary(f"{name} could not be tried out: {type(error).__name__}: {reason}")
    return next((trial for trial in trials if trial.grade != "exact"), trials[0])


def _trial(build: Callable[[], EnvInstance], name: str, seed: int, middle: int) -> Grade:
    draw = np.random.default_rng(seed)
    with LocalVector(build, 1) as first, LocalVector(build, 1) as second:
        replay_log = _logged(first, draw, seed, middle)
        second.reset([_OTHER_SEED])
        if not second.replay([_written_and_read(replay_log)])[0]:
            return _boundary(f"a fresh {name} could not replay {_steps(replay_log)}")
        if not _equal(_inference(first.buffers), _inference(second.buffers)):
            return _boundary(f"replaying {_steps(replay_log)} of {name} gave another observation")
        return _compare(first, second, draw, name, replay_log)


def _boundary(why: str) -> Grade:
    return Grade("episode boundary", why)


def _steps(replay_log: ReplayLog) -> str:
    return f"{len(replay_log.actions)} step{'' if len(replay_log.actions) == 1 else 's'}"


def _logged(vector: LocalVector, draw: np.random.Generator, seed: int, middle: int) -> ReplayLog:
    """Somewhere within an episode that is not the first, so that random streams matter."""
    vector.reset([seed])
    for _ in _patiently(_WARM_UP):
        if vector.step(_action(vector, draw)):
            break
    vector.begin_again()
    for _ in _patiently(middle):
        vector.step(_action(vector, draw))
    return vector.replay_logs()[0]


def _patiently(steps: int) -> Iterator[int]:
    began = perf_counter()
    for step in range(steps):
        yield step
        if perf_counter() - began > _PATIENCE_S:
            return


def _written_and_read(replay_log: ReplayLog) -> ReplayLog:
    """What is left of a replay log after a checkpoint."""
    fields = {
        "start": replay_log.start,
        "seed": replay_log.seed,
        "actions": np.array(replay_log.actions),
    }
    data, arrays = packing.pack(fields)
    read = packing.unpack(json.loads(json.dumps(data)), arrays)
    return ReplayLog(read["start"], read["seed"], tuple(read["actions"]))


def _compare(
    first: LocalVector,
    second: LocalVector,
    draw: np.random.Generator,
    name: str,
    replay_log: ReplayLog,
) -> Grade:
    for step in _patiently(_COMPARED):
        action = _action(first, draw)
        episodes = first.step(action)
        same_episodes = second.step(action) == episodes
        if not same_episodes or not _equal(_moved(first.buffers), _moved(second.buffers)):
            return _boundary(
                f"after replaying {_steps(replay_log)}, a fresh {name} diverged "
                f"{step + 1} step{'s' * (step > 0)} later"
            )
    return Grade("exact", f"a fresh {name} replayed {_steps(replay_log)} to the same observation")


def _inference(buffers: Buffers) -> list[Array]:
    """What an env shows before its next step."""
    there = [*buffers.obs.values(), buffers.signals_start]
    return there if buffers.mask is None else [*there, buffers.mask]


def _moved(buffers: Buffers) -> list[Array]:
    """What a step brought, and what is shown after it."""
    ended = buffers.terminated | buffers.truncated
    return [
        *_inference(buffers),
        *(leaf[ended] for leaf in buffers.final_obs.values()),
        *(buffers.reward, buffers.terminated, buffers.truncated, buffers.lost, buffers.signals),
    ]


def _equal(a: list[Array], b: list[Array]) -> bool:
    return all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


def _action(vector: LocalVector, draw: np.random.Generator) -> Array:
    mask = vector.buffers.mask
    return random_action(vector.spaces.action, draw, None if mask is None else mask[0])[None]


def random_action(spec: ActionSpec, draw: np.random.Generator, mask: Bools | None) -> Array:
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
