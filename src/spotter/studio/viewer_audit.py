"""The reward audit of the inspector: what every reward term contributed."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Final

from nicegui import ui

from spotter.charts import echarts
from spotter.episodes import format as traces
from spotter.episodes.audit import Part, audit
from spotter.episodes.format import Trace
from spotter.episodes.signature import signature
from spotter.studio import theme, viewer
from spotter.studio.context import Context
from spotter.text.numbers import plural
from spotter.types import UserError

_MOST_EPISODES: Final = 50
_MOST_SHOWN: Final = 8  # outliers per part
_HEADS: Final = (
    "part", "mean", "spread", "least", "greatest", "per episode", "nonzero", "share",
)  # fmt: skip
_ONE, _ALL = "this episode", "all stored episodes of this run"


def panel(shelf: viewer.Shelf, context: Context, run_id: str, episode: str) -> None:
    """A choice of episodes, then a table and a histogram per part."""
    with ui.row().classes("studio-row q-mb-md"):
        scope = ui.toggle([_ONE, _ALL], value=_ONE).props("no-caps unelevated")
    place = ui.column().classes("w-full gap-4 inspect-audit")

    async def draw() -> None:
        try:
            found = await asyncio.to_thread(
                audited, shelf, context, run_id, episode, scope.value == _ALL
            )
        except UserError as error:
            theme.say(place, str(error))
            return
        with theme.cleared(place):
            _table(found)
            with ui.element("div").classes("studio-grid"):
                for part in found.parts:
                    _histogram(part)
            _outliers(found.parts, found.names, run_id)

    scope.on_value_change(draw)
    ui.timer(0.0, draw, once=True)


def audited(
    shelf: viewer.Shelf, context: Context, run_id: str, episode: str, everything: bool
) -> "Audited":
    """Read the episode, or all that are stored; a copy of one is not counted again."""
    if not everything:
        trace = shelf.trace(run_id, episode)
        return Audited([episode], audit([trace]), "")
    read: dict[str, Trace] = {}
    seen, copies = set[object](), 0
    for folder in traces.listing(context.run_of(run_id)):
        try:
            trace = shelf.trace(run_id, folder.name)
            who = signature(trace)
        except UserError:
            continue
        if who in seen and trace.meta.mode != "human":  # people do repeat themselves
            copies += 1
            continue
        seen.add(who)
        read[folder.name] = trace
        if len(read) == _MOST_EPISODES:
            break
    found = list(read.values())
    return Audited(list(read), audit(found), mixture(found, copies))


@dataclass(frozen=True)
class Audited:
    """What was read, what its rewards were made of, and what is mixed in it."""

    names: list[str]
    parts: list[Part]
    mixture: str
    """Empty where there is nothing to be said."""


def mixture(found: list[Trace], copies: int) -> str:
    """Who played the episodes, in one line: `2 greedy of step 20,224, 1 untrained`."""
    players = Counter((trace.meta.step, trace.meta.mode) for trace in found)
    texts = []
    for (step, mode), count in sorted(players.items(), reverse=True):
        texts.append(f"{count} {mode}" + (f" of step {step:,}" if mode in traces.OWN_MODES else ""))
    left_out = f"; left out as copies: {copies}" if copies else ""
    return ", ".join(texts) + left_out


def _table(found: Audited) -> None:
    steps = found.parts[0].steps if found.parts else 0
    with theme.card(f"Rewards: {plural(len(found.names), 'episode')}, {steps:,} steps"):
        if found.mixture:
            ui.label(found.mixture).classes("quiet")
        theme.table(_HEADS, map(_row, found.parts), ("", *["mono"] * (len(_HEADS) - 1)))


def _row(part: Part) -> list[str]:
    numbers = (part.mean, part.std, part.minimum, part.maximum, part.total)
    shares = (part.steps_paid, part.share)
    return [part.name, *(f"{x:.4g}" for x in numbers), *(f"{share:.0%}" for share in shares)]


def _histogram(part: Part) -> None:
    options = echarts.base()
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
            ui.label("No single step had a far higher or lower reward than usual.").classes("quiet")
        for part, outlier in strange:
            name = names[outlier.trace]
            text = f"{part.name} {outlier.value:+.4g} at step {outlier.step} of {name}"
            ui.link(text, address(run_id, name, outlier.step)).classes("block")
