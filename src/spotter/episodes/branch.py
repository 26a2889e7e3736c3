"""What if? An episode again up to a step, then another action, then the policy's own choices.

The environment is brought back by its seed and the same actions, and must show the same again; one
that draws from elsewhere cannot be branched, which is said in one sentence.
"""

from pathlib import Path
from typing import Any

import numpy as np

from spotter.episodes.capture import capture
from spotter.episodes.format import Trace, load, run_of
from spotter.types import UserError


def branch(folder: str, step: int, action: object = None, **how: Any) -> Trace:
    """The episode in `folder` up to `step`, then `action` if given; `how` goes to `capture`."""
    before = load(Path(folder))
    before.check_step(step)
    meta = before.meta
    reported = list(before.columns["action"][:step])
    if action is not None:
        reported.append(action)
    settings = {
        "seed": meta.seed,
        "mode": "sampled" if meta.mode == "sampled" else "greedy",
        "untrained": meta.mode == "untrained",
        "overrides": meta.changes,
        **how,
    }
    which = f"/step={meta.step}" if meta.checkpoint else ""
    after = capture(f"{run_of(Path(folder)).folder}{which}", first_actions=reported, **settings)
    _check_repeats(before, after, step)
    return after


def _check_repeats(before: Trace, after: Trace, step: int) -> None:
    """Until the branch, both must have seen the same."""
    for path, seen in before.observations.items():
        again = after.columns[f"obs/{path}"][: step + 1]
        same = len(again) == step + 1 and np.array_equal(again, seen[: step + 1])
        if not same:
            raise UserError(
                f"{before.meta.env_id} cannot be brought back to step {step}: "
                "the same seed and actions led elsewhere"
            )
