"""Charts of the compare page as ECharts options: curves of groups of runs, and their family tree.

Everything is thinned here, so that twenty runs of five thousand updates stay light in a browser.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spotter.metrics.spec import Catalogue
from spotter.rundir.catalogue import catalogue
from spotter.rundir.history import Doubles
from spotter.rundir.identity import Info
from spotter.rundir.run import Run
from spotter.studio import human, series, theme
from spotter.studio.compare_rows import Rows, Shelf
from spotter.studio.groups import Band, Curve, Group, Kin, Middle, band
from spotter.studio.zoom import Window, thinned
from spotter.traces.human import Baseline, baselines

USUAL: Final = "train/score"
_FIRST: Final = (USUAL, "eval/score", "train/reward", "train/length")
_AXES: Final = frozenset({"update", "env_steps", "vector_steps"})
_POINTS: Final = 400
_SEED_POINTS: Final = 150  # of a thin line behind a thick one
_DASHES: Final = ("solid", "dashed", "dotted")
_ROW: Final = 56  # pixels per run in the family tree


@dataclass(frozen=True)
class Curves:
    """What the runs have written so far."""

    rows: Mapping[Run, Rows]
    people: Sequence[Baseline] = ()

    @property
    def keys(self) -> list[str]:
        """Every metric any of them has, the usual ones first."""
        found = dict.fromkeys(key for one in self.rows.values() for key in one.keys)
        names = sorted(key for key in found if key not in _AXES)
        return [*(key for key in _FIRST if key in found), *(n for n in names if n not in _FIRST)]

    @property
    def version(self) -> object:
        """Another one whenever there is something new to draw."""
        return tuple(one.version for one in self.rows.values()), tuple(self.people)

    def has(self, key: str) -> bool:
        return any(key in one for one in self.rows.values())

    def of(self, run: Run, key: str) -> Curve:
        return self.rows[run].curve(key)


def read(shelf: Shelf, runs: Sequence[Run], metric: str) -> Curves:
    """What is asked for is read here, so that this may run in a thread."""
    curves = Curves({run: shelf.of(run) for run in runs}, baselines(runs))
    for one in curves.rows.values():
        one.prepare(metric)
    return curves


def catalogue_of(runs: Sequence[Run]) -> Catalogue:
    """What the metrics of these runs mean."""
    return catalogue(sorted({str(run.info()["algo"]) for run in runs}))


# --- curves --------------------------------------------------------------------------------------


def options(
    groups: Sequence[Group],
    curves: Curves,
    metric: str,
    middle: Middle,
    window: Window | None = None,
) -> dict[str, Any]:
    """One colour per group: its middle over seeds, the interval, and every seed behind it."""
    chart = theme.chart_base()
    chart["grid"] = {"left": 8, "right": 20, "top": 40, "bottom": 32, "containLabel": True}
    names = [_label(group) for group in groups]
    quiet = {"color": "#8a9199", "fontSize": 12, "lineHeight": 20}
    chart["legend"] = {"show": True, "type": "scroll", "top": 0, "left": 0, "data": names,
                       "textStyle": quiet, "itemWidth": 18, "itemHeight": 8}  # fmt: skip
    chart["xAxis"] |= {"name": "env steps", "nameLocation": "middle", "nameGap": 24,
                       "nameTextStyle": quiet, "min": 0}  # fmt: skip
    for place, group in enumerate(groups):
        lines = [curves.of(run, metric) for run in group.runs]
        colour = theme.PALETTE[place % len(theme.PALETTE)]
        dash = _DASHES[place // len(theme.PALETTE) % len(_DASHES)]
        chart["series"] += _drawn(names[place], group, lines, middle, (colour, dash), window)
    if metric in human.SCORES:
        chart["series"] += human.lines(curves.people, chart["series"])
    return chart


def _label(group: Group) -> str:
    return f"{group.label} ({group.distinct} seeds)" if group.distinct > 1 else group.label


def _drawn(
    name: str,
    group: Group,
    lines: Sequence[Curve],
    middle: Middle,
    look: tuple[str, str],
    window: Window | None,
) -> list[dict[str, Any]]:
    """`look`: colour and dash."""
    colour, dash = look
    if len(lines) == 1:
        return [_line(name, _pairs(lines[0].finite(), _POINTS, window), colour, 2.0, dash)]
    thin = [
        {
            **_line(name, _pairs(line.finite(), _SEED_POINTS, window), colour, 0.8, dash),
            "silent": True,
            "tooltip": {"show": False},
            "lineStyle": {"width": 0.8, "color": colour, "opacity": 0.4, "type": dash},
        }
        for line in lines
    ]
    found = band(lines, group.seeds, middle)
    if found is None:
        return thin
    thick = _line(name, series.pairs(found.env_steps, found.middle), colour, 2.6, dash)
    # the thick one first: the legend looks like it, and hides all that share its name
    return [{**thick, "z": 4}, *_interval(name, found, colour), *thin]


def _pairs(curve: Curve, points: int, window: Window | None) -> list[list[float]]:
    return series.pairs(*thinned(curve.env_steps, curve.values, points, window))


def _line(
    name: str, data: list[list[float]], colour: str, width: float, dash: str
) -> dict[str, Any]:
    return {
        "type": "line",
        "name": name,
        "data": data,
        "showSymbol": len(data) == 1,
        "symbolSize": 6,
        "itemStyle": {"color": colour},
        "lineStyle": {"width": width, "color": colour, "type": dash},
        "emphasis": {"disabled": True},
    }


def _interval(name: str, found: Band, colour: str) -> list[dict[str, Any]]:
    """ECharts has no bands: an unseen line at the lower end, and the height stacked upon it."""
    if found.low is None or found.high is None:
        return []
    return [
        _edge(name, found.env_steps, found.low, {"opacity": 0}),
        _edge(name, found.env_steps, found.high - found.low, {"opacity": 0.16, "color": colour}),
    ]


def _edge(name: str, x: Doubles, y: Doubles, area: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "line",
        "name": name,
        "data": series.pairs(x, y),
        "stack": f"band of {name}",
        "stackStrategy": "all",  # lower ends below zero, heights above it
        "showSymbol": False,
        "silent": True,
        "tooltip": {"show": False},
        "lineStyle": {"opacity": 0},
        "itemStyle": {"opacity": 0},
        "areaStyle": area,
        "emphasis": {"disabled": True},
    }


# --- the family ----------------------------------------------------------------------------------


def tree(kin: Sequence[Kin], chosen: Sequence[str]) -> tuple[dict[str, Any], int]:
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


def _circular(one: Kin, kin: Sequence[Kin]) -> bool:
    """A run.json may say anything, even that a run is its own grandparent."""
    parents = {other.id: other.parent for other in kin}
    seen, up = {one.id}, one.parent
    while up is not None:
        if up in seen:
            return True
        seen.add(up)
        up = parents.get(up)
    return False


def _node(one: Kin, chosen: bool) -> dict[str, Any]:
    colour = theme.PALETTE[0] if chosen else "#8a9199"
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
