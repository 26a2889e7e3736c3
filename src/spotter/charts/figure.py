"""One metric of several runs as a figure for a paper or a page; matplotlib is optional.

Runs that differ in nothing but the seed become one curve: the median over seeds, with a 95 %
bootstrap interval from three seeds on. Drawn without pyplot: no window, no state.
"""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from spotter.charts.chart import Level, Line, Panel
from spotter.plugins import did_you_mean, require
from spotter.rundir.curves import Group, band, groups
from spotter.rundir.files import cannot_write
from spotter.rundir.history import Curve
from spotter.rundir.run import Run
from spotter.rundir.view import RunView
from spotter.types import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METRIC: Final = "eval/score"
FORMATS: Final = (".png", ".svg", ".pdf")
_SCORES: Final = ("eval/score", "train/score")
_WIDTH: Final = 6.4  # inches
_HEIGHT: Final = 3.6
_LINE: Final = 0.19  # of the legend
_DPI: Final = 200
_WIDEST: Final = 80  # letters of a legend's line that fit into the figure
_UNDATED: Final[dict[str, dict[str, None]]] = {
    ".svg": {"Date": None}, ".pdf": {"CreationDate": None}
}  # fmt: skip
"""So that the same runs make the same file."""


def check_file(path: Path) -> Path:
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"a plot is a .png, .svg or .pdf file, and '{path.name}' is not")
    return path


def figure(runs: Sequence[Run], metric: str = METRIC) -> "Figure":
    """A matplotlib `Figure`, one curve per group of seeds; `UserError` if no run has the metric."""
    if not runs:
        raise UserError("a plot needs one run or more")
    return drawn(panel(runs, metric))


def panel(runs: Sequence[Run], metric: str) -> Panel:
    """A line per group of seeds, and the threshold if all have the same."""
    views = {run: RunView(run) for run in runs}
    _check_metric(metric, list(views.values()))
    thresholds = {view.threshold for view in views.values()}
    level = thresholds.pop() if metric in _SCORES and len(thresholds) == 1 else None
    return Panel(
        title=metric,
        lines=[
            _line(group, [views[run].history.curve(metric) for run in group.runs])
            for group in groups(runs)
        ],
        levels=[] if level is None else [Level(level, "solved")],
        x_title="env steps",
    )


def _line(group: Group, curves: Sequence[Curve]) -> Line:
    found = band(curves, group.seeds)
    if found is None:  # not silently: the legend says why there is no curve
        lacks = "no env steps in common" if any(one.values.size for one in curves) else "no values"
        return Line(f"{group.label} ({lacks})", np.empty(0), np.empty(0))
    seeds = f" ({found.seeds} seeds)" if found.seeds > 1 else ""
    return Line.of_band(f"{group.label}{seeds}", found)


def drawn(panel: Panel) -> "Figure":
    """A panel as a matplotlib `Figure`; the legend stands below it, where it hides no curve."""
    figures = require("matplotlib.figure", "plot")
    names = [textwrap.wrap(line.name, _WIDEST) for line in panel.lines]
    size = (_WIDTH, _HEIGHT + _LINE * sum(map(len, names)))
    found: Figure = figures.Figure(figsize=size, layout="constrained")
    axes = found.add_subplot()
    for line, name in zip(panel.lines, names, strict=True):
        mark = "o" if line.x.size == 1 else None  # a line of one point is not seen
        (curve,) = axes.plot(line.x, line.y, marker=mark, label="\n".join(name))
        if line.low is not None and line.high is not None:
            colour = curve.get_color()
            axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.2, lw=0)
    for level in panel.levels:
        axes.axhline(level.y, color="0.5", linestyle="--", linewidth=1, label=level.text)
    axes.set_xlabel(panel.x_title)
    axes.set_ylabel(panel.title)
    axes.grid(alpha=0.3)
    found.legend(loc="outside lower center", fontsize="small")
    return found


def save(figure: "Figure", path: Path) -> None:
    """In the format that the name says."""
    kind = check_file(path).suffix.lower()
    matplotlib = require("matplotlib", "plot")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context({"svg.hashsalt": "spotter", "svg.fonttype": "none"}):
            figure.savefig(path, dpi=_DPI, metadata=_UNDATED.get(kind))
    except OSError as error:
        raise cannot_write(path, error) from error


def _check_metric(metric: str, views: Sequence[RunView]) -> None:
    there = {key for view in views for key in view.history.keys}
    if metric not in there:
        what = "this run has" if len(views) == 1 else "these runs have"
        raise UserError(f"{what} no metric '{metric}'{did_you_mean(metric, there)}")
