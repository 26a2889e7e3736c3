"""What people scored, as lines across a chart of scores."""

from collections.abc import Sequence
from typing import Final

from spotter.charts.chart import Level
from spotter.episodes.human import Baseline
from spotter.text.numbers import plural, score

SCORES: Final = ("train/score", "eval/score", "test/score")
"""Metrics that a person's score compares with."""


def levels(found: Sequence[Baseline]) -> list[Level]:
    """Mean and best of each baseline."""
    drawn = []
    for one in found:
        game = f" in {one.env_id}" if len(found) > 1 else ""
        mean = f"human{game}: mean {score(one.mean)} of {plural(len(one.scores), 'episode')}"
        drawn.append(Level(one.mean, mean))
        if one.best > one.mean:
            drawn.append(Level(one.best, f"human{game}: best {score(one.best)}", "dotted"))
    return drawn
