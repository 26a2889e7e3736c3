"""The review tab of the inspector: what a language model thinks of the run.

Nothing is sent before every word of it was shown and a button pressed. Which model is decided where
Studio was started, by environment variables; a page can neither choose nor see them.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from nicegui import ui

from spotter.studio import theme
from spotter.studio.context import Context
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.review import Review

_ABOUT: Final = (
    "Sends a digest of this run, and frames of this episode if you like, to the model that was "
    "set up where Studio runs. Nothing is sent before you have seen it and pressed Send."
)
_MOST_PICTURES: Final = 8
_NO_ANSWERS: Final = "No review of this run yet."


class Panel:
    """A question, what would be sent, and the answers there are."""

    def __init__(self, context: Context, run_id: str, episode: str) -> None:
        self._context, self._run_id, self._episode = context, run_id, episode
        with theme.card("Ask for a review", "inspect-review"):
            ui.label(_ABOUT).classes("quiet")
            self._question = ui.textarea("Question", placeholder="What held this run back?")
            self._question.props('outlined dense rows=2 autogrow maxlength="4000"')
            self._question.classes("w-full")
            self._pictures = ui.number(
                "Frames of this episode", value=0, min=0, max=_MOST_PICTURES, precision=0
            ).props("outlined dense").classes("studio-pictures")  # fmt: skip
            for field in (self._question, self._pictures):
                field.on_value_change(self._forget)
            with ui.row().classes("studio-row"):
                ui.button("Show what would be sent", on_click=self._show).props("outline no-caps")
                self._send_button = ui.button("Send", on_click=self._send).props(
                    "unelevated no-caps"
                )
                self._described = ui.label("").classes("quiet")
            self._problem = ui.column().classes("w-full")
            self._sent = ui.label("").classes("studio-log inspect-sent")
            self._sent.props('tabindex="0" role="region" aria-label="What would be sent"')
        self._answers = ui.column().classes("w-full gap-4 inspect-answers")
        self._forget()
        ui.timer(0.0, self._list, once=True)

    def _forget(self) -> None:
        """What was shown is not what would be sent any more."""
        self._send_button.disable()
        self._sent.visible = False
        self._described.text = ""

    async def _show(self) -> None:
        self._forget()
        try:
            shown, missing = await asyncio.to_thread(self._preview)
        except UserError as error:
            theme.say(self._problem, str(error))
            return
        theme.say(self._problem, missing)
        self._sent.text, self._sent.visible = shown, True
        self._send_button.set_enabled(not missing)

    def _preview(self) -> tuple[str, str]:
        """What would be sent, and why it cannot be if so; in a thread."""
        from spotter import review
        from spotter.review import client

        run = self._context.run_of(self._run_id)
        text = review.preview(run, **self._wish())
        try:
            client.needed()
        except UserError as error:
            return text, str(error)
        return text, ""

    def _wish(self) -> dict[str, Any]:
        count = int(self._pictures.value or 0)
        wish: dict[str, object] = {"question": str(self._question.value or ""), "frames": count}
        return wish | ({"episode": self._episode} if count else {})

    async def _send(self) -> None:
        from spotter import review

        theme.say(self._problem, "")
        self._send_button.disable()
        self._described.text = "Asking; this may take a minute…"
        wish = self._wish()
        try:
            run = self._context.run_of(self._run_id)
            await asyncio.to_thread(lambda: review.ask(run, **wish))
        except UserError as error:
            theme.say(self._problem, str(error))
            self._send_button.enable()
        else:
            self._sent.visible = False
        self._described.text = ""
        await self._list()

    async def _list(self) -> None:
        from spotter import review

        try:
            run = self._context.run_of(self._run_id)
            found = await asyncio.to_thread(review.stored, run)
        except UserError:
            return  # the run is gone, and its page says so
        if self._answers.is_deleted:
            return
        with theme.cleared(self._answers):
            _answers(found)


def _answers(found: "Sequence[Review]") -> None:
    """Newest first, as plain text: a model's words may hold anything, and nothing of it is run."""
    if not found:
        ui.label(_NO_ANSWERS).classes("quiet")
    for one in reversed(found):
        with theme.card(f"Review {one.number} by {one.model}"):
            when = one.time[:16].replace("T", " ")
            pictures = f", with {len(one.frames)} frames of {one.episode}" if one.frames else ""
            ui.label(f"{when} UTC, asked by {one.by}{pictures}").classes("studio-chart-about")
            ui.label(one.question).classes("quiet")
            ui.label(one.answer.strip()).classes("inspect-answer")
            if one.is_cut:
                ui.label("The server ended this answer early.").classes("studio-chart-about")
