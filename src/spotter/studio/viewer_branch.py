"""What if it had done something else here: the inspector's way into `spotter.episodes.branch`.

Runs in the worker: translates the probability that was clicked, or the numbers that were written,
into an action, plays on, and says what became of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from spotter.envs.scale import Scale
from spotter.episodes import format as traces
from spotter.episodes.format import Array, Trace
from spotter.episodes.labels import action_label, units
from spotter.studio.viewer_capture import telling
from spotter.types import UserError


def branch(
    folder: str,
    step: int,
    pick: int | Sequence[float],
    report: Callable[[object], bool] | None = None,
) -> dict[str, object]:
    """Play on from `step` with another action; the new episode is saved beside the old one.

    `folder` is where the old one lies, `pick` which probability was clicked, or a number per axis.
    """
    from spotter.episodes import branch as branches

    old = traces.load(Path(folder))
    action = other_action(old, step, pick) if isinstance(pick, int) else numbers(old, step, pick)
    how: dict[str, object] = {"on_step": telling(report), "pictures": len(old.frames) > 0}
    if old.meta.end in ("cut", "stopped"):  # else the longer one would look better
        how["most_steps"] = old.meta.length
    new = branches.branch(folder, step, action, **how)
    note = f"a branch of {Path(folder).name}: {action_label(new, step)} at step {step}"
    new = replace(new, meta=replace(new.meta, warnings=(*new.meta.warnings, note)))
    saved = traces.save(new, traces.place(traces.run_of(Path(folder)), new.meta))
    return {
        "episode": saved.name,
        "did": action_label(old, step),
        "tried": action_label(new, step),
        "before": old.meta.score,
        "after": new.meta.score,
        "length_before": old.meta.length,
        "length_after": new.meta.length,
    }


def other_action(trace: Trace, step: int, column: int) -> Array:
    """The action of a step with one choice made otherwise, one button pressed or let go."""
    meta = trace.meta
    if "probability" not in trace.columns:
        raise UserError(f"actions of {meta.env_id} are numbers: write one for each axis")
    width = trace.columns["probability"].shape[1]
    if not (0 <= step < meta.length and 0 <= column < width):
        raise UserError(f"step {step} of this episode has no choice {column}")
    if "mask" in trace.columns and not trace.columns["mask"][step, column]:
        raise UserError(f"that action is masked at step {step}: it cannot be done there")
    done = np.array(trace.columns["action"][step])
    if meta.action_kind == "discrete":
        return np.asarray(column, dtype=done.dtype)
    if meta.action_kind == "binary":
        done[column] = 1 - done[column]
        return done
    starts = np.cumsum([0, *meta.nvec])
    part = int(np.searchsorted(starts, column, side="right")) - 1
    done[part] = column - starts[part]
    return done


def numbers(trace: Trace, step: int, values: Sequence[float]) -> Array:
    """An action that is a number per axis in the environment's units, as the policy gives it."""
    meta, done = trace.meta, trace.columns["action"]
    if meta.action_kind != "box":
        raise UserError(f"actions of {meta.env_id} are choices, not numbers")
    if not 0 <= step < meta.length:
        raise UserError(f"step {step} of this episode is not there")
    # an older episode does not say what the environment's units are: the policy's, then
    scale = units(meta) or Scale.between(*np.outer((-1.0, 1.0), np.ones(done[0].size)))
    fits = len(values) == len(scale.low) and all(np.isfinite(values))
    if not fits or not ((scale.low <= values) & (values <= scale.high)).all():
        ranges = ", ".join(
            f"{low:g} to {high:g}" for low, high in zip(scale.low, scale.high, strict=True)
        )
        raise UserError(f"an action of {meta.env_id} is {len(scale.low)} numbers: {ranges}")
    return scale.to_policy(values).astype(done.dtype).reshape(done.shape[1:])
