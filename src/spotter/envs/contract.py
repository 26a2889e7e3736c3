"""What Gymnasium asks of an environment, and what to change where one does otherwise.

Nothing here runs while an environment keeps to it: `Meter` asks after an error, or where what came
back is not what it should be.
"""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces as gs

from spotter.envs.base import Env
from spotter.types import UserError

ERRORS: Final = (ValueError, TypeError, AttributeError, AssertionError, LookupError)
"""What unpacking and converting a wrong answer raises."""
_WORDS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven")
FLAGS: Final = frozenset({bool, np.bool_})
_GYMNASIUM, _SPOTTER = Path(gymnasium.__file__).parent, Path(__file__).parents[1]
_UNPACKS: Final = tuple(
    str(place)
    for place in (
        *(_GYMNASIUM / name for name in ("core.py", "wrappers")),
        *(_SPOTTER / name for name in ("envs/meter.py", "envs/contract.py", "episodes", "video")),
    )
)
"""Files that take apart what an environment returned."""
_FIVE: Final = "observation, reward, terminated, truncated and info"


def check_spaces(env: Env) -> None:
    """Both spaces exist and are Gymnasium's."""
    for name in ("observation_space", "action_space"):
        space = getattr(env, name, None)
        if space is None:
            raise UserError(
                f"{_name(env)} has no {name}; set self.{name} in its __init__, "
                "for example to gymnasium.spaces.Discrete(2)"
            )
        if not isinstance(space, gs.Space):
            kind = f"{type(space).__module__}.{type(space).__qualname__}"
            raise UserError(
                f"{name} of {_name(env)} is a {kind}, not a space of Gymnasium; "
                "take it from gymnasium.spaces"
            )


def reset_problem(env: Env, start: object) -> str:
    """What is wrong with what `reset` returned, as a sentence; empty if nothing is."""
    if isinstance(start, tuple | list) and len(start) == 2 and isinstance(start[1], Mapping):
        return ""
    return (
        f"reset() of {_name(env)} returned {_shown(start)}, not an observation and an info dict; "
        "end it with `return observation, {}`"
    )


def step_problem(env: Env, answer: Any) -> str:
    """What is wrong with what `step` returned, as a sentence; empty if nothing is."""
    name = _name(env)
    if not isinstance(answer, tuple | list):
        return f"step() of {name} returned {_shown(answer)}, not {_FIVE}"
    if len(answer) != 5:
        count = _WORDS[len(answer)] if len(answer) < len(_WORDS) else str(len(answer))
        old = "; `done` of the old Gym is `terminated`, or `truncated` at a time limit"
        return (
            f"step() of {name} returned {count} value{'s' * (len(answer) != 1)}, not five: {_FIVE}"
            f"{old if len(answer) == 4 else ''}"
        )
    _, reward, terminated, truncated, info = answer
    if problem := _reward_problem(reward):
        return f"step() of {name} {problem}"
    for flag, value in (("terminated", terminated), ("truncated", truncated)):
        if np.size(value) != 1 or not isinstance(value, bool | int | np.generic | np.ndarray):
            return f"step() of {name} returned {_shown(value)} as {flag}; return True or False"
    if not isinstance(info, Mapping):
        return f"step() of {name} returned {_shown(info)} as info; return a dict, such as {{}}"
    return ""


def _reward_problem(reward: Any) -> str:
    """The end of a sentence about a reward that is no number; empty if it is one."""
    try:
        _number(reward)
    except (TypeError, ValueError):
        return f"returned {_shown(reward)} as reward; a reward is one number" + (
            ": sum its parts, and put them into info to see each of them"
            if np.size(reward) > 1
            else ", such as 0.0"
        )
    return ""


def _number(reward: Any) -> float:
    if isinstance(reward, np.ndarray) and reward.size == 1:
        return float(reward.item())
    return float(reward)


class Guard:
    """Turns what a broken contract made go wrong into one sentence.

    Before its first whole step, an environment that breaks it is the user's to change. Later it is
    a fault like any other, and the environment is replaced as often as `env.restarts` allows.
    """

    def __init__(self) -> None:
        self.proven = False

    def refuse(self, problem: str, cause: Exception | None = None) -> None:
        if problem:
            raise (ValueError if self.proven else UserError)(problem) from cause

    def number(self, env: Env, reward: Any) -> float:
        """A reward as a number; an array of one is one, too."""
        try:
            return _number(reward)
        except (TypeError, ValueError) as error:
            self.refuse(f"step() of {_name(env)} {_reward_problem(reward)}", error)
            raise

    def after_reset(self, env: Env, error: Exception, seed: int | None) -> None:
        """Find out whether a broken contract is behind an error of `reset`."""
        if not _came_from_unpacking(error):
            return
        taken = inspect.signature(env.unwrapped.reset).parameters
        anything = any(one.kind is one.VAR_KEYWORD for one in taken.values())
        if not anything and not {"seed", "options"} <= set(taken):
            self.refuse(
                f"reset() of {_name(env)} takes no seed or no options; "
                "write `def reset(self, *, seed=None, options=None)`",
                error,
            )
        try:
            start = env.unwrapped.reset(seed=seed, options=None)
        except Exception:  # its own fault, and the first one is on its way already
            return
        self.refuse(reset_problem(env, start), error)

    def after_step(self, env: Env, error: Exception, action: Any) -> None:
        """Find out whether a broken contract is behind an error of `step`."""
        if not _came_from_unpacking(error):
            return
        try:
            answer = env.unwrapped.step(action)
        except Exception:  # its own fault, and the first one is on its way already
            return
        self.refuse(step_problem(env, answer), error)


def _came_from_unpacking(error: Exception) -> bool:
    """Whether it was raised where an answer is taken apart, not inside the environment."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None or isinstance(error, UserError):
        return False
    return place.tb_frame.f_code.co_filename.startswith(_UNPACKS)


def _name(env: Env) -> str:
    return env.spec.id if env.spec else type(env.unwrapped).__name__


def _shown(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {list(value.shape)}"
    text = " ".join(repr(value).split())
    short = f"{text[:60]}{'…' * (len(text) > 60)}"
    return short if value is None else f"{type(value).__name__} {short}"
