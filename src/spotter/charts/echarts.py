"""Panels as options of ECharts, which draws in the browser: colours suit light and dark alike.

Points are rounded, not thinned: which of them a reader needs is decided by the page.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from spotter.charts.chart import PALETTE, Level, Line, Mark, Panel, Weight
from spotter.rundir.history import Doubles

Options = dict[str, Any]

MARKS: Final = {"alert": "#c77700", "change": "#a2508f"}
"""Colours by kind of mark."""
_QUIET: Final = "#8a9199"
_WIDTHS: Final[dict[Weight, float]] = {"usual": 1.8, "strong": 2.6, "faint": 0.9}
_LEVELS: Final[dict[Weight, int]] = {"faint": 2, "usual": 3, "strong": 4}
"""What is drawn above what."""
_UNSEEN: Final = {"silent": True, "tooltip": {"show": False}}
_FEW: Final = 3  # points that are not seen without symbols
_ROW_HEIGHT: Final = 13  # pixels of a label
_LETTER: Final = 0.014  # of a chart's width, which a letter of a label takes at most


def base(title: str = "") -> Options:
    """What every chart shares."""
    quiet = {"color": _QUIET, "fontSize": 11}
    line = {"lineStyle": {"color": f"{_QUIET}44"}}
    axis = {"axisLabel": quiet, "axisLine": line, "splitLine": line, "axisTick": {"show": False}}
    return {
        "animation": False,
        "color": list(PALETTE),
        "title": {
            "text": title,
            "left": 0,
            "top": 0,
            "padding": [7, 0, 0, 0],
            "textStyle": {"fontSize": 13, "fontWeight": 500, "color": _QUIET},
        },
        "grid": {"left": 8, "right": 16, "top": 34, "bottom": 4, "containLabel": True},
        "tooltip": {"trigger": "axis", "confine": True, "transitionDuration": 0},
        "legend": {"show": False},
        "xAxis": {"type": "value", "max": "dataMax", **axis},
        "yAxis": {"type": "value", "scale": True, **axis},
        "series": [],
    }


def drawn(panel: Panel) -> Options:
    """`panel.x` is the stretch that is seen, which labels of marks are placed in."""
    chart = base(panel.title)
    series = [one for line in panel.lines for one in _series(line, panel.stacked)]
    if series and panel.marks:
        series[-1]["markLine"] = _marks(panel)
    places = [point[0] for one in series for point in one["data"]]
    if places:
        series += [_level(level, min(places), max(places)) for level in panel.levels]
    chart["series"] = series
    chart["yAxis"] |= _bounds(panel.y)
    names = list(dict.fromkeys(line.name for line in panel.lines))
    if len(names) > 1 or not panel.title:
        chart["legend"] = _legend(names, left=130 if panel.title else 0)
    if panel.x_title:
        chart["grid"] |= {"top": 40, "bottom": 32}
        chart["xAxis"] |= {"name": panel.x_title, "nameLocation": "middle", "nameGap": 24,
                           "nameTextStyle": {"color": _QUIET, "fontSize": 12}}  # fmt: skip
    return chart


def pairs(x: Doubles, y: Doubles) -> list[list[float]]:
    """Six digits are more than a screen shows, and travel faster."""
    return [
        [float(f"{a:.9g}"), float(f"{b:.6g}")] for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]


def _legend(names: Sequence[str], left: int) -> Options:
    return {
        "show": True, "data": list(names), "type": "scroll", "top": 0, "left": left, "right": 8,
        "itemHeight": 8, "itemWidth": 14, "textStyle": {"color": _QUIET, "fontSize": 11},
    }  # fmt: skip


def _bounds(y: tuple[float | None, float | None]) -> Options:
    """An axis is fixed where the metric cannot leave it; one-sided bounds hold one side."""
    low, high = y
    if low is not None and high is not None:
        return {"min": low, "max": high, "scale": False}
    return {"min": 0, "scale": False} if low == 0 else {}


# --- lines ---------------------------------------------------------------------------------------


def _series(line: Line, stacked: bool) -> Iterator[Options]:
    """The line first: the legend looks like it, and hides all that share its name."""
    colour = PALETTE[line.colour % len(PALETTE)]
    look: Options = {"width": _WIDTHS[line.weight], "color": colour, "type": line.dash}
    found: Options = {
        "type": "line",
        "name": line.name,
        "data": pairs(line.x, line.y),
        "showSymbol": line.x.size < _FEW,
        "symbolSize": 6,
        "itemStyle": {"color": colour},
        "lineStyle": look,
        "z": _LEVELS[line.weight],
        "emphasis": {"disabled": True},
    }
    if stacked:
        found |= {"stack": "all", "areaStyle": {"opacity": 0.5}, "lineStyle": look | {"width": 0.5}}
    if line.weight == "faint":
        found |= {"lineStyle": look | {"opacity": 0.35}, **_UNSEEN}
    yield found
    if line.low is not None and line.high is not None:
        # ECharts has no bands: an unseen line at the lower end, and the height stacked upon it
        yield _edge(line, line.low, {"opacity": 0})
        yield _edge(line, line.high - line.low, {"opacity": 0.16, "color": colour})


def _edge(line: Line, y: Doubles, area: Options) -> Options:
    return {
        "type": "line",
        "name": line.name,
        "data": pairs(line.x, y),
        "stack": f"band of {line.name}",
        "stackStrategy": "all",  # lower ends below zero, heights above it
        "showSymbol": False,
        "lineStyle": {"opacity": 0},
        "itemStyle": {"opacity": 0},
        "areaStyle": area,
        **_UNSEEN,
    }


def _level(level: Level, start: float, end: float) -> Options:
    """Two unseen points make room on the axis for the line between them."""
    place = "insideEndTop" if level.dash == "dotted" else "insideEndBottom"
    return {
        "type": "line",
        "name": level.text,
        "data": [[start, level.y], [end, level.y]],
        "symbol": "none",
        "color": _QUIET,
        "lineStyle": {"opacity": 0},
        "tooltip": {"show": False},
        "markLine": {
            "silent": True,
            "symbol": "none",
            "lineStyle": {"color": _QUIET, "type": level.dash, "width": 1.4},
            "label": {"formatter": "{a}", "position": place, "color": _QUIET, "fontSize": 11},
            "data": [{"yAxis": level.y}],
        },
    }


# --- marks ---------------------------------------------------------------------------------------


def _marks(panel: Panel) -> Options:
    """A line for each, its name beside it in a row of its own: several often begin together."""
    marks = sorted(panel.marks, key=lambda mark: (mark.x, mark.text))
    start, end = panel.x or (0.0, max((mark.x for mark in marks), default=1.0))
    shares = [((mark.x - start) / ((end - start) or 1.0), mark.text) for mark in marks]
    places = zip(marks, shares, rows(shares), strict=True)
    return {
        "symbol": "none",
        "silent": False,
        "lineStyle": {"type": "dashed", "width": 1},
        "label": {"formatter": "{b}", "fontSize": 10, "rotate": 0},
        "data": [_mark(mark, share, row) for mark, (share, _), row in places],
    }


def _mark(mark: Mark, share: float, row: int) -> Options:
    """Its label stands inside the chart, below the end of its line, where there is room."""
    colour, is_left = MARKS[mark.kind], share < 0.5
    return {
        "name": mark.text,
        "xAxis": mark.x,
        "lineStyle": {"color": colour},
        "label": {
            "color": colour,
            "align": "left" if is_left else "right",
            "offset": [4 if is_left else -4, _ROW_HEIGHT * (row + 1) + 4],
        },
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
