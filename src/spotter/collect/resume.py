"""Envs of a resumed run: brought back by replaying the actions of their last episode."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spotter.envs.backends.vector import VectorEnv
from spotter.types import ReplayLog


def log_data(log: ReplayLog) -> dict[str, object]:
    """As a checkpoint holds it."""
    return {"start": log.start, "seed": log.seed, "actions": np.array(log.actions)}


def replay(vector: VectorEnv, seeds: Sequence[int], state: Mapping[str, Any]) -> list[int]:
    """Replay every env to where it was; returns those that ended up elsewhere, which begin a new
    episode."""
    everyone = list(range(vector.count))
    logs = [ReplayLog(**{**log, "actions": tuple(log["actions"])}) for log in state["tapes"]]
    if len(logs) != vector.count:
        return everyone
    # envs that cannot be restored start from their present, freshly seeded observation
    fresh = [ReplayLog({}, seed, ()) for seed in seeds]
    arrived = vector.replay(logs)
    for path, leaf in vector.buffers.obs.items():
        for row in everyone:
            arrived[row] &= np.array_equal(leaf[row], state["obs"][path][row], equal_nan=True)
    begun = [row for row in everyone if not arrived[row]]
    if begun:
        vector.replay([fresh[row] if row in begun else logs[row] for row in everyone])
    return begun
