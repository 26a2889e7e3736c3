"""How well people play: human baselines, from the episodes that runs keep of them. No torch here.

Only whole episodes in the run's own game count: not those that were stopped, were begun by another
player, or were played under changed settings.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from spotter.episodes import format as traces
from spotter.episodes.format import Meta
from spotter.rundir.run import Run
from spotter.types import UserError


@dataclass(frozen=True)
class Baseline:
    """What people scored in one game."""

    env_id: str
    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        return sum(self.scores) / len(self.scores)

    @property
    def best(self) -> float:
        return max(self.scores)


def baselines(runs: Sequence[Run]) -> list[Baseline]:
    """Of the people who played in any of these runs, one for each game they played."""
    played: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        for meta in filter(_counts, _metas(run)):
            played.setdefault((meta.env_id, meta.fingerprint), []).append(float(meta.score))
    return [Baseline(env_id, tuple(scores)) for (env_id, _), scores in played.items()]


def _metas(run: Run) -> Iterable[Meta]:
    for folder in traces.listing(run):
        if "-human" in folder.name:
            try:
                yield _meta(folder, (folder / "trace.json").stat().st_mtime_ns)
            except (UserError, OSError):
                continue  # deleted meanwhile, or damaged: the inspector says so


@lru_cache(maxsize=1024)
def _meta(folder: Path, changed: int) -> Meta:
    return traces.load_meta(folder)


def _counts(meta: Meta) -> bool:
    begun_by_others = any(note.startswith(traces.TAKEN_OVER) for note in meta.warnings)
    whole = meta.end in ("terminated", "truncated") and math.isfinite(meta.score)
    return meta.mode == "human" and whole and not meta.changes and not begun_by_others
