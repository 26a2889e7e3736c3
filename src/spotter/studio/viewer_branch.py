"""What if it had done something else here: the same episode up to a step, then another action.

Runs in the worker. A fresh copy is reset with the same seed and given the recorded actions; only if
it shows bit for bit what was recorded does the other action count, and the policy plays on.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from spotter.studio.viewer_capture import telling
from spotter.traces import format as traces
from spotter.traces.format import Array, Trace
from spotter.types import UserError


def branch(
    folder: str, step: int, column: int, report: Callable[[Any], bool] | None = None
) -> dict[str, Any]:
    """Play on from `step` with another action; the new episode is saved beside the old one.

    `folder` is where the old one lies, `column` which probability was clicked.
    """
    from spotter.rundir.run import Run
    from spotter.traces.capture import capture

    old = traces.load(Path(folder))
    first = [*old.columns["action"][:step], other_action(old, step, column)]
    run = Run(Path(folder).parents[1])
    trace = capture(
        _selector(run, old),
        seed=old.meta.seed,
        mode=old.meta.mode if old.meta.mode in ("greedy", "sampled") else "greedy",
        overrides=old.meta.changes,
        untrained=old.meta.mode == "untrained",
        on_step=telling(report),
        first_actions=first,
        pictures=len(old.frames) > 0,
    )
    check_same_way(old, trace, step)
    note = f"a branch of {Path(folder).name}: {traces.action_label(trace, step)} at step {step}"
    trace = replace(trace, meta=replace(trace.meta, warnings=(*trace.meta.warnings, note)))
    saved = traces.save(trace, traces.place(run, trace.meta))
    return {
        "episode": saved.name,
        "did": traces.action_label(old, step),
        "tried": traces.action_label(trace, step),
        "before": old.meta.score,
        "after": trace.meta.score,
        "length_before": old.meta.length,
        "length_after": trace.meta.length,
    }


def _selector(run: Any, old: Trace) -> str:
    return f"{run.folder}/step={old.meta.step}" if old.meta.checkpoint else str(run.folder)


def other_action(trace: Trace, step: int, column: int) -> Array:
    """The action of a step with one choice made otherwise, one button pressed or let go."""
    meta = trace.meta
    if "probability" not in trace.columns:
        raise UserError(f"actions of {meta.env_id} are numbers, so there is no other one to pick")
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


def check_same_way(old: Trace, new: Trace, step: int) -> None:
    """Whether a replay went the recorded way up to `step`; `UserError` where it parted from it."""
    if new.meta.length <= step:
        raise UserError(_cannot(old, step, "the replay ended before it"))
    for name in old.columns:
        if not name.startswith("obs/") and name != "reward":
            continue
        seen_until = step + 1 if name != "reward" else step
        before, again = old.columns[name][:seen_until], new.columns[name][:seen_until]
        unlike = [t for t in range(seen_until) if before[t].tobytes() != again[t].tobytes()]
        if unlike:
            what = "paid another reward" if name == "reward" else "showed something else"
            raise UserError(_cannot(old, step, f"the replay {what} at step {unlike[0]}"))


def _cannot(old: Trace, step: int, why: str) -> str:
    return f"{old.meta.env_id} cannot be brought back to step {step} of this episode: {why}"
