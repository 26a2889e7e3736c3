"""The best way of an archive as settings of a training: `env.demo`."""

from pathlib import Path
from typing import Any

from spotter.config import demo
from spotter.explore.archive import FILE, load
from spotter.types import UserError


def of_archive(folder: Path, env_id: str) -> dict[str, Any]:
    """Its best way, for a training in this environment."""
    if not (folder / FILE).exists():
        raise UserError(f"{folder} holds no exploration; make one with: spotter explore {env_id}")
    archive, about = load(folder)
    explored, best = about["settings"], archive.nodes[archive.best]
    if explored["env"]["id"] != env_id:
        raise UserError(f"{folder} holds an exploration of {explored['env']['id']}, not {env_id}")
    if best.score <= 0:
        raise UserError(
            f"no way in {folder} has a score yet, so there is nothing to learn from: explore on "
            f"with --score"
        )
    actions = demo.written(archive.way(archive.best))
    return {"actions": actions, "score": best.score, "seed": explored["seed"]}
