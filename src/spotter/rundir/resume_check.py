"""What keeps a run from being resumed, and which setting would allow it; used everywhere."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from spotter.config import RunConfig

_ENDS: Final = ("solved", "budget", "alert")
"""Reasons with which a session ends by itself, after its final test."""


@dataclass(frozen=True)
class Blocker:
    """`reason` continues "run X …"; `override` is a value of `setting` that allows it."""

    setting: str
    reason: str
    override: str


def lacks(
    info: Mapping[str, object],
    config: RunConfig,
    env_steps: int,
    seconds: float,
    is_done: bool = False,
) -> list[Blocker]:
    """Of a run that was saved at `env_steps`, after so many seconds; empty if it may resume.

    One that was stopped before its final test has only that left to do, and needs no budget for
    it, unless `is_done` says that more is wanted.
    """
    found = []
    steps, minutes = config.budget.env_steps, config.budget.minutes
    is_done = is_done or info["reason"] in _ENDS
    if steps is not None and env_steps >= steps and is_done:
        found.append(_spent("env_steps", f"{steps:,} env steps", 2 * env_steps))
    if minutes is not None and seconds >= minutes * 60 and is_done:
        found.append(_spent("minutes", f"{minutes:g} minutes", math.ceil(2 * minutes)))
    if info["solved"] and config.eval.stop_when_solved:
        setting = "eval.stop_when_solved"
        found.append(Blocker(setting, "is solved", f"{setting}=false"))
    return found


def _spent(name: str, budget: str, more: int) -> Blocker:
    setting = f"budget.{name}"
    return Blocker(setting, f"has spent its budget of {budget}", f"{setting}={more}")
