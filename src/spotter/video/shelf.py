"""Where a run keeps its films: `videos/step-000020224.mp4`, a JSON beside each, and `best.json`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from spotter.config import RunConfig
from spotter.rundir.files import write_json
from spotter.video.replay import CannotRender, Film, film

FOLDER: Final = "videos"


class Filmed(Protocol):
    """What a film needs to know of an `Evaluation`."""

    @property
    def env_steps(self) -> int: ...
    @property
    def scores(self) -> Sequence[float]: ...
    @property
    def first_seeds(self) -> Sequence[int]:
        """What each copy was reset with."""

    @property
    def first_actions(self) -> Sequence[npt.NDArray[Any]]:
        """The actions of each copy's first episode."""


def save_video(run_folder: Path, config: RunConfig, evaluation: Filmed, *, best: bool) -> Film:
    """Film the first episode of copy 0 into the run; `best` makes it the run's best video.

    If copy 0 failed in it, the next one that did not. `as_evaluated` in the JSON says whether the
    replay scored what one of the episodes had.
    """
    path = run_folder / FOLDER / f"step-{evaluation.env_steps:09d}.mp4"
    copy = next((i for i, each in enumerate(evaluation.first_actions) if len(each)), None)
    if copy is None:
        raise CannotRender(f"{config.env.id} cannot be filmed: no episode was written down")
    seed = int(evaluation.first_seeds[copy])
    title = f"{config.env.id} · {config.algo.name} · {evaluation.env_steps:,} env steps"
    made = film(config.env, seed, list(evaluation.first_actions[copy]), path, title=title)
    write_json(
        path.with_suffix(".json"),
        {
            "file": path.name,
            "env_steps": evaluation.env_steps,
            "seed": seed,
            "score": made.score,
            "as_evaluated": made.score in evaluation.scores,
            "evaluation_score": float(np.mean(evaluation.scores)),
            "fps": made.fps,
            "frames": made.frames,
            "seconds": made.seconds,
        },
    )
    if best:
        write_json(path.with_name("best.json"), {"file": path.name})
    return made
