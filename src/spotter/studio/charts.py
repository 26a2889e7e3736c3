"""Which figures a run page shows, grouped as the metric catalogue is, and what is drawn in each.

Pure functions of a run's history: no page, no files.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from spotter.charts.chart import Line, Mark, Panel
from spotter.charts.echarts import MARKS
from spotter.charts.points import Window, downsample, evenly, smooth, thinned
from spotter.episodes.human import Baseline
from spotter.metrics.spec import Catalogue
from spotter.rundir.history import History
from spotter.studio import human

Kind = Literal["lines", "scaled", "shares"]

AXES: Final = {
    "env steps": "env_steps",
    "vector steps": "vector_steps",
    "time": "time/elapsed_s",
}
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
_SCORE: Final = "Score"
LEGEND: Final = {
    "alert, when it was first raised": MARKS["alert"],
    "settings changed": MARKS["change"],
}


@dataclass(frozen=True)
class Figure:
    """One or several metrics that are drawn together."""

    title: str
    keys: tuple[str, ...]
    kind: Kind = "lines"
    about: str = ""
    low: float | None = None
    high: float | None = None
    names: tuple[str, ...] = ()
    """What the lines are called, where not as their metrics."""

    @property
    def is_score(self) -> bool:
        return self.title == _SCORE


@dataclass(frozen=True)
class Event:
    """Something that happened, and in which figures it is marked."""

    env_steps: float
    text: str
    metric: str = ""
    """The figure it belongs to, besides that of the score; all of them if `everywhere`."""
    everywhere: bool = False
    kind: Literal["alert", "change"] = "alert"


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
) -> dict[str, list[Figure]]:
    """Every figure of a run by the name of its group, the overview first."""
    metrics = sorted((key for key in keys if "/" in key), key=lambda key: _order(specs, key))
    found: dict[str, list[Figure]] = {name: [] for name in _GROUPS}
    for key in metrics:
        if not key.startswith((_SHARES, *_OF_COMPONENTS)):
            found.setdefault(_group_of(key), []).append(_single(specs, key))
    together = _together(metrics, actions)
    for name, charts in together.items():
        found[name] = [*charts, *found[name]]
    overview = [chart for charts in together.values() for chart in charts]
    overview += [_single(specs, key) for key in _IN_OVERVIEW if key in metrics]
    return {OVERVIEW: overview} | {name: charts for name, charts in found.items() if charts}


def _together(metrics: Sequence[str], actions: Sequence[str]) -> dict[str, list[Figure]]:
    """Metrics that mean more side by side."""

    def of(prefix: str) -> tuple[str, ...]:
        return tuple(key for key in metrics if key.startswith(prefix))

    found: dict[str, list[Figure]] = {}
    scores = tuple(key for key in human.SCORES if key in metrics)
    if scores:
        about = "raw return of full episodes: while training, and on held-out seeds"
        found["Scores"] = [Figure(_SCORE, scores, about=about)]
    if len(of("reward/")) > 1:
        about = "mean return of every weighted reward part, same episodes"
        found["Rewards"] = [Figure("Reward parts", of("reward/"), about=about)]
    policy = [*_shares(of(_SHARES), actions)]
    for prefix, (title, about) in _OF_COMPONENTS.items():
        if of(prefix):
            names = tuple(f"component {key.removeprefix(prefix)}" for key in of(prefix))
            policy.append(Figure(title, of(prefix), about=about, names=names))
    if policy:
        found["Policy"] = policy
    if len(of("loss/")) > 1:
        about = "every loss divided by its largest size, so that their shapes compare"
        found["Losses"] = [Figure("Losses together", of("loss/"), "scaled", about, -1, 1)]
    return found


def _shares(keys: Sequence[str], actions: Sequence[str]) -> Iterator[Figure]:
    """One figure for all actions, or one for each component of them."""
    about = "share of each action in the rollout"
    whole = tuple(key for key in keys if "/" not in key.removeprefix(_SHARES))
    if whole:
        yield Figure("Actions", whole, "shares", about, 0, 1, _named(whole, actions))
    components: dict[str, list[str]] = {}
    for key in keys:
        component, slash, _ = key.removeprefix(_SHARES).partition("/")
        if slash:
            components.setdefault(component, []).append(key)
    for component, of_it in components.items():
        names = tuple(key.rpartition("/")[2] for key in of_it)
        title = f"Actions, component {component}"
        yield Figure(title, tuple(of_it), "shares", about, 0, 1, names)


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


def _single(specs: Catalogue, key: str) -> Figure:
    spec = specs.find(key)
    if spec is None:
        return Figure(key, (key,))
    about = f"{spec.meaning} ({spec.unit})" if spec.unit else spec.meaning
    return Figure(key, (key,), about=about, low=spec.low, high=spec.high)


def panel(
    figure: Figure,
    history: History,
    view: View,
    events: Sequence[Event] = (),
    people: Sequence[Baseline] = (),
) -> Panel:
    """What is drawn; people's scores stand beside the policy's."""
    lines = [
        line
        for place, key in enumerate(figure.keys)
        if key in history
        for line in _lines(figure, history, view, place)
    ]
    here = [one for one in events if one.everywhere or one.metric in figure.keys or figure.is_score]
    marks, seen = _marks(here, history, view)
    return Panel(
        title=figure.title,
        lines=lines,
        stacked=figure.kind == "shares",
        levels=human.levels(people) if set(figure.keys) & set(human.SCORES) else (),
        marks=marks,
        x=view.window or seen,
        y=(figure.low, figure.high),
    )


def _lines(figure: Figure, history: History, view: View, place: int) -> list[Line]:
    """The line; where it is smoothed, what was measured, faintly."""
    key = figure.keys[place]
    name = figure.names[place] if figure.names else key
    x, y = history.curve(key, view.axis)
    if figure.kind == "scaled" and y.size:
        y = y / (float(np.abs(y).max()) or 1.0)
    points = _POINTS_EACH.get(len(figure.keys), _FEW_POINTS)
    is_stacked = figure.kind == "shares"
    way = evenly if is_stacked else downsample
    smoothed = thinned(x, smooth(y, view.weight), points, view.window, way)
    lines = [Line(name, *smoothed, colour=place)]
    if 0 < view.weight < 1 and not is_stacked:
        measured = thinned(x, y, points, view.window)
        lines.append(Line(name, *measured, colour=place, weight="faint"))
    return lines


def _marks(
    events: Sequence[Event], history: History, view: View
) -> tuple[list[Mark], tuple[float, float] | None]:
    """Along the axis that is shown, and where that begins and ends."""
    steps, axis = history.column("env_steps"), history.column(view.axis)
    there = np.isfinite(steps) & np.isfinite(axis)
    if not there.any():
        return [], None
    places = np.interp([one.env_steps for one in events], steps[there], axis[there]).tolist()
    marks = [Mark(x, one.text, one.kind) for x, one in zip(places, events, strict=True)]
    return marks, (float(axis[there].min()), float(axis[there].max()))
