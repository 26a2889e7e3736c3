"""What the actions of an episode are called, and their units. No torch here."""

import math
from collections.abc import Sequence

import numpy as np

from spotter.envs.scale import Scale
from spotter.episodes.format import Array, Meta, Trace


def units(meta: Meta) -> Scale | None:
    """Between the policy's units and the environment's; None where that is not known."""
    return Scale.between(meta.action_low, meta.action_high) if meta.action_low else None


def beliefs(trace: Trace) -> dict[str, Array]:
    """`mean` and `std` of continuous actions in the environment's units, where those are known."""
    found = {name: trace.columns[name] for name in ("mean", "std") if name in trace.columns}
    scale = units(trace.meta)
    if scale is None or len(found) < 2:
        return found
    return {"mean": scale.to_env(found["mean"]), "std": found["std"] * scale.radius}


def action_label(trace: Trace, step: int) -> str:
    """What was done at a step, in words; continuous actions as the environment received them."""
    is_box = trace.meta.action_kind == "box"
    column = "received" if is_box and "received" in trace.columns else "action"
    return label(trace.meta, trace.columns[column][step])


def label(meta: Meta, action: Array) -> str:
    """An action in words; numbers where there are no names."""
    names = meta.action_names
    if meta.action_kind == "discrete":
        chosen = int(action)
        return names[chosen] if 0 <= chosen < len(names) else str(chosen)
    values = np.ravel(action)
    named = len(names) == len(values)
    if meta.action_kind == "box":
        return "  ".join(
            f"{names[i] if named else ''} {v:+.2f}".strip() for i, v in enumerate(values)
        )
    if meta.action_kind == "binary":
        pressed = [names[i] if named else str(i) for i in np.flatnonzero(values)]
        return " + ".join(pressed) or "nothing"
    return ", ".join(f"{names[i]} {v}" if named else str(v) for i, v in enumerate(values))


def likelihood(trace: Trace, step: int) -> float | None:
    """Of what was done; None for continuous actions, whose densities say little."""
    if trace.meta.action_kind == "box" or "log_prob" not in trace.columns:
        return None
    return math.exp(float(trace.columns["log_prob"][step]))


def choices(meta: Meta) -> tuple[str, ...]:
    """Names of the columns of `probability` and `mask`."""
    is_one = meta.action_kind != "multi_discrete"
    return meta.action_names if is_one else of_parts(meta.action_names, meta.nvec)


def of_parts(names: Sequence[str], nvec: Sequence[int]) -> tuple[str, ...]:
    """Every choice of an action of several parts."""
    parts = names if len(names) == len(nvec) else tuple(str(i) for i in range(len(nvec)))
    return tuple(f"{part} {i}" for part, n in zip(parts, nvec, strict=True) for i in range(n))
