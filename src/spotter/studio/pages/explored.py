"""Explored: what `spotter explore` found, a list of explorations and a map of each.

The page of one only sets the scene: `static/explored.js` fetches the map and draws it, and fetches
it again when it is saved. Ways are played, and films made, in the worker.
"""

import asyncio
from datetime import UTC, datetime
from functools import partial
from typing import Final
from urllib.parse import quote

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from spotter.explore.shelf import Listed, Shelf
from spotter.launch.worker import WorkerError
from spotter.studio import explored_routes, theme
from spotter.studio.context import PATIENCE_S, Context
from spotter.studio.explored import Explored
from spotter.studio.pages import inspector
from spotter.text.numbers import count, duration, number, plural
from spotter.types import UserError

CSS: Final = theme.STATIC / "explored.css"
_LIVE_EVERY_S: Final = 5.0
_HEADS: Final = (
    "Exploration", "Game", "Best score", "Cells", "Frames", "Starts", "Computing", "Saved",
)  # fmt: skip
_KINDS: Final = ("mono", "", *["studio-number"] * 5, "")
_HINT: Final = "Begin one: spotter explore ALE/MontezumaRevenge-v5 --score 100"
_MOST_DIGITS: Final = 9


class MapView(
    Element, component=str(theme.STATIC / "explored.js"), esm={"studio": str(theme.STATIC)}
):
    """One exploration, drawn by the browser."""

    def __init__(self, base: str, cell: int) -> None:
        super().__init__()
        self._props["base"] = base
        self._props["start"] = cell


def register(context: Context) -> None:
    shelf = Shelf(context.runs.parent / "explored")
    explored = Explored(shelf, context.worker)
    explored_routes.register(explored)

    @ui.page("/explored", title="Explored", response_timeout=PATIENCE_S)
    async def overview() -> None:
        with theme.page("Explored"):
            page = _Overview(shelf)
            await page.refresh()
            ui.timer(_LIVE_EVERY_S, page.refresh, immediate=False)

    @ui.page("/explored/{name}", title="Explored", response_timeout=PATIENCE_S)
    async def one(name: str, cell: str = "") -> None:
        with theme.page(f"Explored: {name}"):
            ui.add_css(inspector.CSS)  # its bars and buttons
            ui.add_css(CSS)
            # an archive that cannot be read is a sentence here, before anything is drawn
            await asyncio.to_thread(explored.opened, name)
            at = int(cell) if cell.isdecimal() and len(cell) < _MOST_DIGITS else -1
            _Page(explored, name).draw(at)


class _Overview:
    """One open list."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._place = ui.element("div").classes("w-full")
        self._shown: object = None

    async def refresh(self) -> None:
        """Drawn again only if something was saved: what is focused must not vanish."""
        found, problems = await asyncio.to_thread(self._shelf.listed)
        if self._place.is_deleted or self._shown == (found, problems):
            return
        self._shown = found, problems
        with theme.cleared(self._place):
            if found:
                with theme.card():
                    theme.table(_HEADS, map(_row, found), _KINDS)
            else:
                theme.empty(f"There are no explorations in {self._shelf.root} yet", _HINT)
            if problems:
                many = f"{plural(len(problems), 'archive')} cannot be read"
                with ui.expansion(many).props("dense").classes("w-full quiet"):
                    for why in problems.values():
                        ui.label(why).classes("studio-chart-about")


def _row(listed: Listed) -> list[theme.Cell]:
    glance, about = listed.glance, listed.glance.about
    saved = datetime.fromtimestamp(listed.saved, UTC)
    link = partial(ui.link, listed.name, f"/explored/{quote(listed.name, safe='')}")
    return [
        link,
        str(about["settings"]["env"]["id"]),
        number(glance.best),
        count(glance.cells),
        count(about["frames"]),
        count(about["starts"]),
        duration(about["seconds"]),
        f"{saved:%Y-%m-%d %H:%M} UTC",
    ]


class _Page:
    """One visit to an exploration."""

    def __init__(self, explored: Explored, name: str) -> None:
        self._explored, self._name = explored, name

    def draw(self, cell: int) -> None:
        shown = MapView(f"/api/explored/{quote(self._name, safe='')}", cell)
        shown.on("film", self._film)
        self._below = ui.column().classes("w-full gap-4")

    async def _film(self, event: GenericEventArguments) -> None:
        """Of the way that is looked at; made once."""
        digest, title = str(event.args["id"]), str(event.args["title"])
        with theme.cleared(self._below), theme.card():
            ui.label("Playing the way again…").props('role="status"')
            ui.linear_progress(show_value=False).props("indeterminate")
        self._reveal()
        try:
            file, is_cut = await self._explored.film(self._name, digest)
        except (UserError, WorkerError) as error:
            if not self._below.is_deleted:
                theme.say(self._below, str(error))
            return
        if self._below.is_deleted:
            return
        address = f"/api/explored/{quote(self._name, safe='')}/films/{file}"
        with theme.cleared(self._below), theme.card(title, "map-film"):
            video = ui.element("video").props(f'src="{address}" controls autoplay playsinline')
            video.classes("map-video")
            if is_cut:
                ui.label("The way is longer; the film ends after ten minutes.").classes("quiet")
            ui.link("Download", address).props(f'download="{file}"')
        self._reveal()

    def _reveal(self) -> None:
        """What is drawn below the map is not to be missed."""
        place = f"document.getElementById('{self._below.html_id}')"
        ui.run_javascript(f"{place}.scrollIntoView({{block: 'nearest', behavior: 'smooth'}})")
