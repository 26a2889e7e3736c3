"""Actions of an env in words, as captions say them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete

from spotter.config import EnvConfig
from spotter.envs.backends.slices import EnvInstance
from spotter.envs.naming import action_names, chord
from spotter.types import Array


def names_of(env: EnvConfig, instance: EnvInstance) -> tuple[str, ...]:
    """Of the choices, buttons or axes; empty where the family names none."""
    bare = instance.meter.action_space
    return action_names(env, int(bare.start) if isinstance(bare, Discrete) else 0)


def label(instance: EnvInstance, names: Sequence[str], action: Array) -> str:
    """A row of the action buffer."""
    spec = instance.spaces.action
    if spec.kind == "discrete":
        fits = len(names) == spec.nvec[0]
        return names[int(action)] if fits else str(instance.decode(action))
    if spec.kind == "box":
        return axes(names, instance.decode(action))
    return chord([int(choice) for choice in np.ravel(action)], names)


def axes(names: Sequence[str], received: Any) -> str:
    """Numbers an environment is given, each with the name of its axis if it has one."""
    values = np.ravel(received).tolist()
    labels = [f"{name} " for name in names] if len(names) == len(values) else [""] * len(values)
    return "  ".join(f"{name}{v:+.2f}" for name, v in zip(labels, values, strict=True))
