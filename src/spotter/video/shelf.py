"""Where a run keeps its films: `videos/step-000020224.mp4`, a JSON beside each, and `best.json`."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from spotter.config import RunConfig
from spotter.rundir.files import write_json
from spotter.types import Evaluation
from spotter.video.replay import CannotRender, Film, film

FOLDER: Final = "videos"


def save_video(
    run_folder: Path,
    config: RunConfig,
    evaluation: Evaluation,
    *,
    best: bool,
    within_s: float = math.inf,
    stop: Callable[[], bool] = lambda: False,
) -> Film:
    """Film the first episode into the run; `best` makes it the run's best video.

    If its env failed, the next one. `as_evaluated` in the JSON says whether the replay scored what
    the episode had, `cut` whether it shows only the first part.
    """
    path = run_folder / FOLDER / f"step-{evaluation.env_steps:09d}.mp4"
    place = next((i for i, each in enumerate(evaluation.first_actions) if len(each)), None)
    seed = None if place is None else evaluation.env_seeds[place]
    if place is None or seed is None:
        raise CannotRender(f"{config.env.id} cannot be filmed: no episode was written down")
    title = f"{config.env.id} · {config.algo.name} · {evaluation.env_steps:,} env steps"
    actions = list(evaluation.first_actions[place])
    made = film(
        config.env, seed, actions, path, title=title, max_s=config.video.max_s, within_s=within_s,
        stop=stop,
    )  # fmt: skip
    write_json(
        path.with_suffix(".json"),
        {
            "file": path.name,
            "env_steps": evaluation.env_steps,
            "seed": seed,
            "score": made.score,
            "as_evaluated": None if made.is_cut else made.score == evaluation.scores[place],
            "cut": made.is_cut,
            "evaluation_score": float(np.mean(evaluation.scores)),
            "fps": made.fps,
            "frames": made.frames,
            "seconds": made.seconds,
        },
    )
    if best:
        write_json(path.with_name("best.json"), {"file": path.name})
    return made
