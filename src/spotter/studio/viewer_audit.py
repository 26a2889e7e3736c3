"""The reward audit of the inspector: what every part of the reward really paid."""

import asyncio
from typing import Final

from nicegui import ui

from spotter.studio import theme, viewer
from spotter.studio.context import Context
from spotter.traces import format as traces
from spotter.traces.audit import Part, audit
from spotter.traces.format import Trace
from spotter.types import UserError

_MOST_EPISODES: Final = 50
_MOST_SHOWN: Final = 8  # outliers per part
_HEADS: Final = (
    "part", "mean", "spread", "least", "greatest", "per episode", "steps that paid", "weight",
)  # fmt: skip
_ONE, _ALL = "this episode", "all stored episodes of this run"


def panel(shelf: viewer.Shelf, context: Context, run_id: str, episode: str) -> None:
    """A choice of episodes, then a table and a histogram per part."""
    with ui.row().classes("studio-row q-mb-md"):
        scope = ui.toggle([_ONE, _ALL], value=_ONE).props("no-caps unelevated")
    place = ui.column().classes("w-full gap-4 inspect-audit")

    async def draw() -> None:
        try:
            names, parts = await asyncio.to_thread(
                audited, shelf, context, run_id, episode, scope.value == _ALL
            )
        except UserError as error:
            place.clear()
            with place:
                theme.problem(str(error))
            return
        place.clear()
        with place:
            _table(parts, len(names))
            with ui.element("div").classes("studio-grid"):
                for part in parts:
                    _histogram(part)
            _outliers(parts, names, run_id)

    scope.on_value_change(draw)
    ui.timer(0.0, draw, once=True)


def audited(
    shelf: viewer.Shelf, context: Context, run_id: str, episode: str, everything: bool
) -> tuple[list[str], list[Part]]:
    """Names of the episodes that were read, and what their rewards were made of."""
    names = [episode]
    if everything:
        stored = traces.listing(context.run_of(run_id))
        names = [folder.name for folder in stored[:_MOST_EPISODES]]
    read: dict[str, Trace] = {}
    for name in names:
        try:
            read[name] = shelf.trace(run_id, name)
        except UserError:
            if not everything:
                raise
    return list(read), audit(list(read.values()))


def _table(parts: list[Part], episodes: int) -> None:
    steps = parts[0].steps if parts else 0
    text = f"{episodes} episode{'s' * (episodes != 1)}, {steps:,} steps"
    with (
        theme.card(f"What was paid: {text}"),
        ui.element("div").classes("studio-scroll"),
        ui.element("table").classes("studio-plain"),
    ):
        with ui.element("tr"):
            for head in _HEADS:
                with ui.element("th"):
                    ui.label(head)
        for part in parts:
            _row(part)


def _row(part: Part) -> None:
    numbers = (part.mean, part.std, part.minimum, part.maximum, part.total)
    texts = [*(f"{number:.4g}" for number in numbers), f"{part.share:.0%}", f"{part.weight:.0%}"]
    with ui.element("tr"):
        with ui.element("td"):
            ui.label(part.name)
        for text in texts:
            with ui.element("td").classes("mono"):
                ui.label(text)


def _histogram(part: Part) -> None:
    options = theme.chart_base()
    middles = [(low + high) / 2 for low, high in zip(part.edges, part.edges[1:], strict=False)]
    options["grid"]["top"] = 12
    options["xAxis"] = options["xAxis"] | {
        "type": "category",
        "data": [f"{middle:.3g}" for middle in middles],
    }
    options["yAxis"] = options["yAxis"] | {"scale": False, "name": "steps"}
    options["series"] = [
        {"type": "bar", "data": list(part.counts), "barCategoryGap": "8%", "barMaxWidth": 48}
    ]
    with theme.card(part.name):
        ui.echart(options).classes("studio-chart")


def _outliers(parts: list[Part], names: list[str], run_id: str) -> None:
    from spotter.studio.pages.inspector import address

    strange = [(part, outlier) for part in parts for outlier in part.outliers[:_MOST_SHOWN]]
    with theme.card("Outliers"):
        if not strange:
            ui.label("No single step paid far more or less than usual.").classes("quiet")
        for part, outlier in strange:
            name = names[outlier.trace]
            text = f"{part.name} {outlier.value:+.4g} at step {outlier.step} of {name}"
            ui.link(text, address(run_id, name, outlier.step)).classes("block")
