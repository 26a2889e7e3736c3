"""The tags of a run on its page: seen, added and taken off."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from nicegui import ui

from spotter.rundir.run import Run
from spotter.studio import theme
from spotter.studio.context import Context
from spotter.types import UserError


class Tags:
    """A word each, with a way to take it off, and a field for another one."""

    def __init__(self, context: Context, id: str, changed: Callable[[], Awaitable[None]]) -> None:
        self._context, self._id, self._changed = context, id, changed
        self._shown: list[str] | None = None
        with ui.element("div").classes("studio-row studio-tags"):
            self._words = ui.element("div").classes("studio-words")
            self._field = ui.input(placeholder="add a tag").props(
                'dense borderless aria-label="Add a tag" maxlength="64"'
            )
            self._field.classes("studio-tag-field").on("keydown.enter", self._add)
        self._problem = ui.element("div").classes("w-full")

    def show(self, tags: Sequence[str]) -> None:
        """Redrawn only when they change: what is focused must not vanish."""
        if list(tags) == self._shown:
            return
        self._shown = list(tags)
        with theme.cleared(self._words):
            for tag in tags:
                with ui.element("span").classes("studio-tag"):
                    ui.label(tag)
                    off = ui.element("button").on("click", partial(self._remove, tag))
                    off.props["type"] = "button"
                    off.props["aria-label"] = (
                        f"Remove the tag {tag}"  # a run's own words: never parsed
                    )
                    with off:
                        ui.label("×")

    async def _add(self) -> None:
        name = str(self._field.value or "").strip()
        if name and await self._do(lambda run: run.tag(name)):
            self._field.value = ""

    async def _remove(self, tag: str) -> None:
        await self._do(lambda run: run.untag(tag))

    async def _do(self, change: Callable[[Run], None]) -> bool:
        self._problem.clear()
        try:
            await asyncio.to_thread(lambda: change(self._context.run_of(self._id)))
        except UserError as error:
            theme.say(self._problem, str(error))
            return False
        await self._changed()
        return True
