"""Looking closer: a stretch of the axis, thinned by itself, so that a zoom shows more and not less.

The browser zooms at once with the points it has; then the server sends finer ones for that stretch.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from nicegui import ui
from nicegui.events import GenericEventArguments

from spotter.charts.points import Window

HINT: Final = "Ctrl and the wheel zoom, dragging moves along, a double click shows everything."
_QUIET_S: Final = 0.15
_WHOLE: Final = 99.9  # per cent
_COMPACT: Final = "Intl.NumberFormat('en', {notation: 'compact', maximumFractionDigits: 2})"
_SHORT: Final = {":formatter": f"value => {_COMPACT}.format(value)"}
"""4M for 4,000,000: long labels are cut off at the edge of a small chart."""


class Zoom:
    """Which stretch the reader looks at: one for all charts of a page that share an axis."""

    def __init__(self, changed: Callable[[], object]) -> None:
        self.window: Window | None = None
        self._changed = changed

    def follow(self, chart: ui.echart) -> None:
        """Hear what is done to a chart whose options went through `apply`."""
        moved = partial(self._moved, chart)
        names = ["start", "end", "batch"]
        chart.on("chart:datazoom", moved, names, throttle=_QUIET_S, leading_events=False)
        chart.on("dblclick", self._leave, [])

    def apply(self, options: dict[str, Any]) -> dict[str, object]:
        """Charts share nothing but the window: each axis ends with its own lines."""
        ends = [line["data"][-1][0] for line in options["series"] if line["data"]]
        top = max(ends, default=1.0) or 1.0
        options["xAxis"] |= {"min": 0, "max": top}
        # both ends are odd numbers after zooming, and stand in the way of the round ones
        ends_shown = {"showMinLabel": self.window is None, "showMaxLabel": False}
        options["xAxis"]["axisLabel"] = options["xAxis"]["axisLabel"] | ends_shown | _SHORT
        low, high = self.window or (0.0, top)
        options["dataZoom"] = [
            {
                "type": "inside",
                "zoomOnMouseWheel": "ctrl",
                "start": 100 * min(low / top, 1.0),
                "end": 100 * min(high / top, 1.0),
            }
        ]
        return options

    def _moved(self, chart: ui.echart, event: GenericEventArguments) -> object:
        reported = (event.args.get("batch") or [event.args])[0]
        try:
            start, end = float(reported["start"]), float(reported["end"])
        except (KeyError, TypeError, ValueError):
            return None
        top = float(chart.options["xAxis"]["max"])
        is_whole = end - start > _WHOLE
        self.window = None if is_whole else (start / 100 * top, end / 100 * top)
        return self._changed()

    def _leave(self) -> object:
        self.window = None
        return self._changed()
