"""A run in a notebook: one sentence and the chart of its scores, as HTML that needs no page."""

import base64
import html
from typing import Final

from spotter.pages.report import charts, facts
from spotter.pages.report.style import CSS
from spotter.rundir.run import Run
from spotter.types import UserError

_SIZE: Final = (720, 260)


def html_card(sentence: str, run: Run | None) -> str:
    """The chart is an image of its own: no style of it reaches the notebook, or the other way."""
    chart = _chart(run) if run else ""
    return f"<div><p>{html.escape(sentence)}</p>{chart}</div>"


def _chart(run: Run) -> str:
    try:
        plot = charts.score_plot(facts.gather(run), _SIZE)
    except (UserError, OSError):  # the folder may be gone by now
        return ""
    if plot is None:
        return ""
    # a background of its own: the theme of the notebook is unknown to an image
    style = f"<style>{CSS} svg {{ background: var(--card); font-family: sans-serif; }}</style>"
    drawn = str(plot).replace(">", f">{style}", 1)
    data = base64.b64encode(drawn.encode()).decode()
    return (
        f'<img alt="score over env steps" width="{_SIZE[0]}" height="{_SIZE[1]}" '
        f'src="data:image/svg+xml;base64,{data}">'
    )
