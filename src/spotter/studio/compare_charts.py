"""What the compare page draws: curves of groups of runs, and their family tree.

Everything is thinned here, so that twenty runs of five thousand updates stay light in a browser.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from spotter.charts.chart import PALETTE, Dash, Line, Panel
from spotter.charts.points import Window, thinned
from spotter.episodes.human import Baseline, baselines
from spotter.metrics.spec import Catalogue
from spotter.rundir.catalogue import catalogue
from spotter.rundir.curves import Group, Middle, band
from spotter.rundir.histories import SCORE, Histories
from spotter.rundir.history import AXES, Curve, Search
from spotter.rundir.identity import Info
from spotter.rundir.run import Run
from spotter.studio import human
from spotter.studio.groups import LineageNode

USUAL: Final = SCORE
_FIRST: Final = (USUAL, "eval/score", "train/reward", "train/length")
_POINTS: Final = 400
_SEED_POINTS: Final = 150  # of a thin line behind a thick one
_DASHES: Final[tuple[Dash, ...]] = ("solid", "dashed", "dotted")
_ROW: Final = 56  # pixels per run in the family tree


@dataclass(frozen=True)
class Curves:
    """What the runs have written so far of one metric."""

    metric: str
    found: Mapping[Run, Search]
    people: Sequence[Baseline] = ()

    @property
    def keys(self) -> list[str]:
        """Every metric any of them has, the usual ones first."""
        found = dict.fromkeys(key for one in self.found.values() for key in one.names)
        names = sorted(key for key in found if key not in AXES)
        return [*(key for key in _FIRST if key in found), *(n for n in names if n not in _FIRST)]

    @property
    def version(self) -> object:
        """Another one whenever there is something new to draw."""
        versions = tuple(one.version for one in self.found.values())
        return self.metric, versions, tuple(self.people)

    @property
    def is_empty(self) -> bool:
        return not any(one.curve.values.size for one in self.found.values())


def read(histories: Histories, runs: Sequence[Run], metric: str) -> Curves:
    """May run in a thread."""
    found = {run: histories.search(run, metric) for run in runs}
    return Curves(metric, found, baselines(runs))


def catalogue_of(runs: Sequence[Run]) -> Catalogue:
    """What the metrics of these runs mean."""
    return catalogue(sorted({str(run.info()["algo"]) for run in runs}))


# --- curves --------------------------------------------------------------------------------------


def panel(
    groups: Sequence[Group], curves: Curves, middle: Middle, window: Window | None = None
) -> Panel:
    """One colour per group: its middle over seeds, the interval, and every seed behind it."""
    lines = []
    for place, group in enumerate(groups):
        dash = _DASHES[place // len(PALETTE) % len(_DASHES)]
        found = _lines(group, [curves.found[run].curve for run in group.runs], middle, window)
        lines += [replace(line, colour=place, dash=dash) for line in found]
    return Panel(
        title="",
        lines=lines,
        levels=human.levels(curves.people) if curves.metric in human.SCORES else (),
        x_title="env steps",
    )


def _lines(
    group: Group, curves: Sequence[Curve], middle: Middle, window: Window | None
) -> Iterator[Line]:
    name = f"{group.label} ({group.distinct} seeds)" if group.distinct > 1 else group.label
    if len(curves) == 1:
        yield Line(name, *thinned(*curves[0], _POINTS, window))
        return
    found = band(curves, group.seeds, middle)
    if found is not None:
        yield replace(Line.of_band(name, found), weight="strong")
    for curve in curves:
        yield Line(name, *thinned(*curve, _SEED_POINTS, window), weight="faint")


# --- the family ----------------------------------------------------------------------------------


def tree(kin: Sequence[LineageNode], chosen: Sequence[str]) -> tuple[dict[str, Any], int]:
    """Parents on the left; the height it needs in pixels. Runs without relatives stay out."""
    nodes = {one.id: _node(one, one.id in chosen) for one in kin}
    roots = []
    for one in kin:
        if one.parent in nodes and not _circular(one, kin):
            nodes[one.parent]["children"].append(nodes[one.id])
        else:
            roots.append(nodes[one.id])
    roots = [node for node in roots if node["children"]]
    joined = {"name": "", "symbolSize": 0, "lineStyle": {"opacity": 0}, "children": roots}
    top = roots[0] if len(roots) == 1 else joined
    label = {"color": "#8a9199", "fontSize": 12, "position": "bottom", "distance": 6}
    options = {
        "animation": False,
        "tooltip": {"show": True, "formatter": "{c}"},
        "series": [
            {
                "type": "tree",
                "data": [top],
                "orient": "LR",
                "left": 100,
                "right": 100,
                "top": 10,
                "bottom": 46,
                "symbol": "circle",
                "symbolSize": 11,
                "expandAndCollapse": False,
                "initialTreeDepth": -1,
                "label": label | {"verticalAlign": "top", "align": "center", "lineHeight": 15},
                "lineStyle": {"color": "#8a919988", "width": 1.2},
            }
        ],
    }
    return options, _ROW * max(_leaves(top), 1) + 50


def _leaves(node: Mapping[str, Any]) -> int:
    return sum(_leaves(child) for child in node["children"]) or 1


def _circular(one: LineageNode, kin: Sequence[LineageNode]) -> bool:
    """A run.json may say anything, even that a run is its own grandparent."""
    parents = {other.id: other.parent for other in kin}
    seen, up = {one.id}, one.parent
    while up is not None:
        if up in seen:
            return True
        seen.add(up)
        up = parents.get(up)
    return False


def _node(one: LineageNode, chosen: bool) -> dict[str, Any]:
    colour = PALETTE[0] if chosen else "#8a9199"
    tip = _tip(one.info) if one.info else "this run is not here any more"
    return {
        "name": f"{one.id}\n{one.how}" if one.how else one.id,
        "run": one.id if one.info else "",
        "value": tip,
        "itemStyle": {
            "color": colour if one.info else "transparent",
            "borderColor": colour,
            "borderWidth": 1.5,
        },
        "children": [],
    }


def _tip(info: Info) -> str:
    value = info["score"] if info["score"] is not None else info["best"]
    worth = "not scored yet" if value is None else f"score {value:g}"
    return f"{info['address']}, {worth}"
