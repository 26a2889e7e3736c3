"""What people scored, as lines across a chart of scores."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from spotter.display.words import plural, score
from spotter.traces.human import Baseline

SCORES: Final = ("train/score", "eval/score", "test/score")
"""Metrics that a person's score compares with."""
_COLOUR: Final = "#8a9199"


def lines(found: Sequence[Baseline], series: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and best of each baseline, as wide as the other lines; nothing without any of those."""
    places = [point[0] for line in series for point in line["data"]]
    if not places:
        return []
    ends = (min(places), max(places))
    drawn = []
    for one in found:
        game = f" in {one.env_id}" if len(found) > 1 else ""
        mean = f"human{game}: mean {score(one.mean)} of {plural(len(one.scores), 'episode')}"
        drawn.append(_line(mean, ends, one.mean, "dashed", "insideEndBottom"))
        if one.best > one.mean:
            best = f"human{game}: best {score(one.best)}"
            drawn.append(_line(best, ends, one.best, "dotted", "insideEndTop"))
    return drawn


def _line(
    name: str, ends: tuple[float, float], height: float, dash: str, place: str
) -> dict[str, Any]:
    """Two unseen points make room on the axis for the mark between them."""
    return {
        "type": "line",
        "name": name,
        "data": [[end, height] for end in ends],
        "symbol": "none",
        "color": _COLOUR,
        "lineStyle": {"opacity": 0},
        "tooltip": {"show": False},
        "markLine": {
            "silent": True,
            "symbol": "none",
            "lineStyle": {"color": _COLOUR, "type": dash, "width": 1.4},
            "label": {"formatter": "{a}", "position": place, "color": _COLOUR,
                      "fontSize": 11},
            "data": [{"yAxis": height}],
        },
    }  # fmt: skip
