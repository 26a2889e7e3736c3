"""Which charts a run page shows, grouped as the metric catalogue is, and what ECharts is told.

Pure functions of a run's history: no page, no files.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from spotter.metrics.spec import Catalogue
from spotter.rundir.history import Doubles, History, downsample, smooth
from spotter.studio import human, theme
from spotter.studio.series import pairs
from spotter.studio.zoom import Window, evenly, thinned
from spotter.traces.human import Baseline

Kind = Literal["lines", "scaled", "shares"]
Options = dict[str, Any]

OVERVIEW: Final = "Overview"
# What is looked at together, in the order of the catalogue; the rest is a group by its own prefix.
_GROUPS: Final = {
    "Scores": ("train", "eval", "test", "merit"),
    "Rewards": ("reward", "rollout"),
    "Policy": ("policy", "action"),
    "Value": ("value", "return", "advantage"),
    "Losses": ("loss",),
    "Gradients": ("grad", "net"),
    "Observations": ("obs",),
    "Info": ("info",),
    "Settings": ("hp",),
    "Time": ("time", "run"),
}
_OF_PREFIX: Final = {prefix: name for name, group in _GROUPS.items() for prefix in group}
_IN_OVERVIEW: Final = ("policy/entropy", "policy/approx_kl", "value/explained_variance", "time/fps")
_SHARES: Final = "action/share/"
_OF_COMPONENTS: Final = {
    "action/mean/": ("Action means", "mean of each component of the actions, as the policy chose"),
    "action/std/": ("Action spread", "standard deviation of each component of the actions"),
    "policy/std/": ("Policy noise", "standard deviation the policy gives each number of an action"),
}
_POINTS_EACH: Final = {1: 500, 2: 400}
_FEW_POINTS: Final = 250
_ROW_HEIGHT: Final = 13  # pixels of a label
ALERT: Final = "#c77700"
CHANGE: Final = "#a2508f"
"""Colours of marks, for light and dark alike."""
LEGEND: Final = {"alert, when it was first raised": ALERT, "settings changed": CHANGE}
_LETTER: Final = 0.014  # of a chart's width, which a letter of a label takes at most


@dataclass(frozen=True)
class Chart:
    """One or several metrics in one picture."""

    title: str
    keys: tuple[str, ...]
    kind: Kind = "lines"
    about: str = ""
    low: float | None = None
    high: float | None = None
    names: tuple[str, ...] = ()
    """What the lines are called, where not as their metrics."""


@dataclass(frozen=True)
class Mark:
    """Something that happened at a point of the axis."""

    env_steps: float
    text: str
    metric: str = ""
    """The chart it belongs to, besides that of the score; all of them if `everywhere`."""
    everywhere: bool = False
    colour: str = ALERT


@dataclass(frozen=True)
class View:
    """How the reader wants it."""

    axis: str = "env_steps"
    weight: float = 0.0
    """Of smoothing: 0 is none."""
    window: Window | None = None
    """Where on the axis; everything if None."""


def groups(
    specs: Catalogue, keys: Iterable[str], actions: Sequence[str] = ()
) -> dict[str, list[Chart]]:
    """Every chart of a run by the name of its group, the overview first."""
    metrics = sorted((key for key in keys if "/" in key), key=lambda key: _order(specs, key))
    found: dict[str, list[Chart]] = {name: [] for name in _GROUPS}
    for key in metrics:
        if not key.startswith((_SHARES, *_OF_COMPONENTS)):
            found.setdefault(_group_of(key), []).append(_single(specs, key))
    together = _together(metrics, actions)
    for name, charts in together.items():
        found[name] = [*charts, *found[name]]
    overview = [chart for charts in together.values() for chart in charts]
    overview += [_single(specs, key) for key in _IN_OVERVIEW if key in metrics]
    return {OVERVIEW: overview} | {name: charts for name, charts in found.items() if charts}


def _together(metrics: Sequence[str], actions: Sequence[str]) -> dict[str, list[Chart]]:
    """Metrics that mean more side by side."""

    def of(prefix: str) -> tuple[str, ...]:
        return tuple(key for key in metrics if key.startswith(prefix))

    found: dict[str, list[Chart]] = {}
    scores = tuple(key for key in human.SCORES if key in metrics)
    if scores:
        about = "raw return of full episodes: while training, and on held-out seeds"
        found["Scores"] = [Chart("Score", scores, about=about)]
    if len(of("reward/")) > 1:
        about = "mean return of every weighted reward part, same episodes"
        found["Rewards"] = [Chart("Reward parts", of("reward/"), about=about)]
    policy = [*_shares(of(_SHARES), actions)]
    for prefix, (title, about) in _OF_COMPONENTS.items():
        if of(prefix):
            names = tuple(f"component {key.removeprefix(prefix)}" for key in of(prefix))
            policy.append(Chart(title, of(prefix), about=about, names=names))
    if policy:
        found["Policy"] = policy
    if len(of("loss/")) > 1:
        about = "every loss divided by its largest size, so that their shapes compare"
        found["Losses"] = [Chart("Losses together", of("loss/"), "scaled", about, -1, 1)]
    return found


def _shares(keys: Sequence[str], actions: Sequence[str]) -> Iterator[Chart]:
    """One chart for all actions, or one for each component of them."""
    about = "share of each action in the rollout"
    whole = tuple(key for key in keys if "/" not in key.removeprefix(_SHARES))
    if whole:
        yield Chart("Actions", whole, "shares", about, 0, 1, _named(whole, actions))
    components: dict[str, list[str]] = {}
    for key in keys:
        component, slash, _ = key.removeprefix(_SHARES).partition("/")
        if slash:
            components.setdefault(component, []).append(key)
    for component, of_it in components.items():
        names = tuple(key.rpartition("/")[2] for key in of_it)
        title = f"Actions, component {component}"
        yield Chart(title, tuple(of_it), "shares", about, 0, 1, names)


def _named(keys: Sequence[str], actions: Sequence[str]) -> tuple[str, ...]:
    numbers = [key.removeprefix(_SHARES) for key in keys]
    return tuple(
        str(actions[int(number)]) if number.isdigit() and int(number) < len(actions) else number
        for number in numbers
    )


def _order(specs: Catalogue, key: str) -> tuple[int, str]:
    spec = specs.find(key)
    return (spec.priority if spec else 1000), key


def _group_of(key: str) -> str:
    prefix = key.partition("/")[0]
    return _OF_PREFIX.get(prefix, prefix.upper() if len(prefix) < 4 else prefix.capitalize())


def _single(specs: Catalogue, key: str) -> Chart:
    spec = specs.find(key)
    if spec is None:
        return Chart(key, (key,))
    about = f"{spec.meaning} ({spec.unit})" if spec.unit else spec.meaning
    return Chart(key, (key,), about=about, low=spec.low, high=spec.high)


def options(
    chart: Chart,
    history: History,
    view: View,
    marks: Sequence[Mark] = (),
    people: Sequence[Baseline] = (),
) -> Options:
    """The chart as ECharts draws it; people's scores stand beside the policy's."""
    base = theme.chart_base(chart.title)
    lines = [key for key in chart.keys if key in history]
    series: list[Options] = []
    for place, key in enumerate(chart.keys):
        if key in lines:
            name = chart.names[place] if chart.names else key
            series += _lines(chart, history, view, key, name, place)
    if series:
        here = [
            mark
            for mark in marks
            if mark.everywhere or mark.metric in chart.keys or chart.title == "Score"
        ]
        series[-1]["markLine"] = _marked(here, history, view)
    if set(chart.keys) & set(human.SCORES):
        series += human.lines(people, series)
    base["series"] = series
    base["yAxis"] |= _bounds(chart)
    base["xAxis"]["name"] = ""
    if len(lines) > 1:
        base["legend"] = {
            "show": True, "data": list(chart.names) or lines, "type": "scroll", "right": 8,
            "top": 0, "left": 130, "itemHeight": 8, "itemWidth": 14,
            "textStyle": {"color": "#8a9199", "fontSize": 11},
        }  # fmt: skip
    return base


def _bounds(chart: Chart) -> Options:
    """An axis is fixed where the metric cannot leave it; one-sided bounds hold one side."""
    if chart.low is not None and chart.high is not None:
        return {"min": chart.low, "max": chart.high, "scale": False}
    if chart.low == 0:
        return {"min": 0, "scale": False}
    return {}


def _lines(
    chart: Chart, history: History, view: View, key: str, name: str, place: int
) -> list[Options]:
    """The line; beneath it, where it is smoothed, what was measured, faintly."""
    x, y = history.curve(key, view.axis)
    if chart.kind == "scaled" and y.size:
        y = y / (float(np.abs(y).max()) or 1.0)
    points = _POINTS_EACH.get(len(chart.keys), _FEW_POINTS)
    colour = theme.PALETTE[place % len(theme.PALETTE)]
    is_stacked = chart.kind == "shares"
    way = evenly if is_stacked else downsample
    line = _line(name, *thinned(x, smooth(y, view.weight), points, view.window, way), colour)
    if is_stacked:
        return [line | {"stack": "all", "areaStyle": {"opacity": 0.5}, "lineStyle": {"width": 0.5}}]
    if not 0 < view.weight < 1:
        return [line]
    faint = _line(name, *thinned(x, y, points, view.window), colour)
    faint |= {
        "lineStyle": {"width": 1, "opacity": 0.25},
        "tooltip": {"show": False},
        "silent": True,
    }
    return [faint, line]


def _line(name: str, x: Doubles, y: Doubles, colour: str) -> Options:
    return {
        "type": "line",
        "name": name,
        "data": pairs(x, y),
        "showSymbol": x.size < 3,
        "color": colour,
        "lineStyle": {"width": 1.6},
    }


def _marked(marks: Sequence[Mark], history: History, view: View) -> Options:
    """A line for each, its name beside it in a row of its own: several often begin together."""
    steps, axis = history.column("env_steps"), history.column(view.axis)
    there = np.isfinite(steps) & np.isfinite(axis)
    if not there.any():
        return {"data": []}
    places = [float(np.interp(mark.env_steps, steps[there], axis[there])) for mark in marks]
    start, end = view.window or (float(axis[there].min()), float(axis[there].max()))
    found = sorted(
        (place, mark.text, mark.colour) for place, mark in zip(places, marks, strict=True)
    )
    shares = [((place - start) / ((end - start) or 1.0), text) for place, text, _ in found]
    labels = [_beside(share, row) for (share, _), row in zip(shares, rows(shares), strict=True)]
    return {
        "symbol": "none",
        "silent": False,
        "lineStyle": {"type": "dashed", "width": 1},
        "label": {"formatter": "{b}", "fontSize": 10, "rotate": 0},
        "data": [
            {
                "name": text,
                "xAxis": place,
                "label": label | {"color": colour},
                "lineStyle": {"color": colour},
            }
            for (place, text, colour), label in zip(found, labels, strict=True)
        ],
    }


def _beside(share: float, row: int) -> Options:
    """Inside the chart, below the end of its line, on the side where there is room."""
    is_left = share < 0.5
    return {
        "align": "left" if is_left else "right",
        "offset": [4 if is_left else -4, _ROW_HEIGHT * (row + 1) + 4],
    }


def rows(places: Sequence[tuple[float, str]]) -> list[int]:
    """For labels from left to right, at a share of the width: the first row where each is free."""
    ends: list[float] = []
    found = []
    for share, text in places:
        width = len(text) * _LETTER
        start = share if share < 0.5 else share - width
        row = next((row for row, end in enumerate(ends) if end < start), len(ends))
        ends[row:] = [start + width, *ends[row + 1 :]]
        found.append(row)
    return found
