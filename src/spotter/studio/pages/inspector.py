"""The inspector: choose or capture an episode, then look at every decision of it.

The page only sets the scene: `static/inspector.js` fetches the episode once and draws it. What
needs a policy (a capture, another action, filters and saliency) runs in the worker.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import nicegui.elements.echart  # noqa: F401  # its module is imported by inspector.js
from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from spotter.episodes import format as traces
from spotter.launch.worker import WorkerError
from spotter.rundir import checkpoints
from spotter.rundir.run import Run
from spotter.studio import theme, viewer, viewer_audit, viewer_review, viewer_routes
from spotter.studio.context import PATIENCE_S, Context
from spotter.types import UserError

_MODES: Final = {
    "greedy": "greedy: always the most likely action",
    "sampled": "sampled: as in training",
    "untrained": "untrained: fresh weights",
}
_MOST_LISTED: Final = 300
_MOST_STEPS: Final = 3000  # of a new episode; some games never end
_MOST_DIGITS: Final = 10
_BETWEEN: Final = re.compile(r"\s+(?=[\w.]+=)")
CSS: Final = theme.STATIC / "inspector.css"


class Viewer(
    Element, component=str(theme.STATIC / "inspector.js"), esm={"studio": str(theme.STATIC)}
):
    """One episode, drawn by the browser."""

    def __init__(self, base: str, play: str, step: int, branches: bool) -> None:
        super().__init__()
        self._props["base"] = base
        self._props["play"] = play
        self._props["start"] = step
        self._props["branches"] = branches


@dataclass(frozen=True)
class Stored:
    """A line of the list of episodes."""

    name: str
    text: str


def register(context: Context) -> None:
    shelf = viewer.Shelf(context.run_of)
    viewer_routes.register(shelf)

    @ui.page("/inspect", title="Inspector", response_timeout=PATIENCE_S)
    async def inspect(
        run: str = "", episode: str = "", step: str = "0", checkpoint: str = ""
    ) -> None:
        with theme.page("Inspector"):
            ui.add_css(CSS)
            at = int(step) if step.isdecimal() and len(step) < _MOST_DIGITS else 0
            await _Page(context, shelf, run, episode, at).draw(checkpoint)


class _Page:
    """One visit."""

    def __init__(
        self, context: Context, shelf: viewer.Shelf, run_id: str, episode: str, step: int
    ) -> None:
        self.context, self.shelf = context, shelf
        self.run_id, self.episode, self.step = run_id, episode, step

    async def draw(self, checkpoint: str) -> None:
        """`checkpoint`, as `step=N`, is chosen in the form for a new episode."""
        infos = await asyncio.to_thread(self.context.infos)
        if not infos:
            theme.no_runs()
            return
        self.run_id = self.run_id or str(infos[0]["id"])
        with ui.row().classes("studio-row"):
            theme.run_picker(infos, self.run_id, visit, "studio-grow inspect-run")
            run = self.context.run_of(self.run_id)
            stored = await asyncio.to_thread(listed, run)
            if self.episode and self.episode not in {one.name for one in stored}:
                traces.find(run, self.episode)
            self.episode = self.episode or (stored[0].name if stored else "")
            if stored:
                ui.select(
                    {one.name: one.text for one in stored}, value=self.episode, label="Episode",
                    on_change=lambda e: visit(self.run_id, e.value),
                ).props("outlined dense").classes("studio-grow inspect-episode")  # fmt: skip
            dialog = _Capture(self.context, run, checkpoint)
            ui.button("Capture an episode", on_click=dialog.open).props("unelevated no-caps")
        if self.episode:
            await self._show()
        else:
            theme.empty(
                f"No episode of {self.run_id} has been captured yet",
                "Press “Capture an episode”, or run: spotter inspect " + self.run_id,
            )

    async def _show(self) -> None:
        # an episode that cannot be read is a sentence here, before anything is drawn
        trace = await asyncio.to_thread(self.shelf.trace, self.run_id, self.episode)
        with ui.tabs().props("no-caps dense align=left") as tabs:
            ui.tab("episode", "Episode")
            ui.tab("audit", "Reward audit")
            ui.tab("review", "Review")
        # all panels stay: the viewer keeps its place while the audit is open
        with ui.tab_panels(tabs, value="episode", keep_alive=True).classes("w-full inspect-panels"):
            with ui.tab_panel("episode").classes("p-0 gap-4"):
                base = f"/api/episode/{quote(self.run_id)}/{quote(self.episode)}"
                play = "/play?" + urlencode({"run": self.run_id, "episode": self.episode})
                branches = "probability" in trace.columns or trace.meta.action_kind == "box"
                shown = Viewer(base, play, self.step, branches)
                self.below = ui.column().classes("w-full gap-4")
                shown.on("branch", self._branch)
                shown.on("look", self._look)
            with ui.tab_panel("audit").classes("p-0"):
                viewer_audit.panel(self.shelf, self.context, self.run_id, self.episode)
            with ui.tab_panel("review").classes("p-0 gap-4"):
                viewer_review.Panel(self.context, self.run_id, self.episode)

    async def _branch(self, event: GenericEventArguments) -> None:
        """Try another action; the old and the new score stand side by side."""
        step, pick = int(event.args["step"]), event.args["pick"]
        with theme.cleared(self.below):
            reported = ui.label("Replaying the episode up to this step…").classes("viewer-note")

        def progress(steps: int) -> None:
            reported.set_text(f"Playing on: {steps:,} steps…")

        self._reveal()
        try:
            found = await self.context.worker.run(
                "spotter.studio.viewer_branch:branch",
                folder=str(self.shelf.folder(self.run_id, self.episode)),
                step=step,
                pick=[float(number) for number in pick] if isinstance(pick, list) else int(pick),
                report=progress,
            )
        except (UserError, WorkerError) as error:
            self._say(error)
            return
        with (
            theme.cleared(self.below),
            theme.card(f"Another action at step {step}", "inspect-branch"),
        ):
            _outcomes(found)
            target = address(self.run_id, found["episode"], step)
            ui.link("Open the new episode at this step", target)
        self._reveal()

    async def _look(self, event: GenericEventArguments) -> None:
        with theme.cleared(self.below):
            ui.label("Asking the network…").classes("viewer-note")
        self._reveal()
        try:
            pictures = await self.context.worker.run(
                "spotter.studio.viewer_vision:explain",
                folder=str(self.shelf.folder(self.run_id, self.episode)),
                step=int(event.args["step"]),
            )
        except (UserError, WorkerError) as error:
            self._say(error)
            return
        with theme.cleared(self.below):
            _explained(int(event.args["step"]), pictures)
        self._reveal()

    def _say(self, error: Exception) -> None:
        theme.say(self.below, str(error))
        self._reveal()

    def _reveal(self) -> None:
        """What is drawn below the viewer is not to be missed."""
        place = f"document.getElementById('{self.below.html_id}')"
        ui.run_javascript(f"{place}.scrollIntoView({{block: 'nearest', behavior: 'smooth'}})")


def visit(run_id: str, episode: str = "", step: int = 0) -> None:
    ui.navigate.to(address(run_id, episode, step))


def address(run_id: str, episode: str = "", step: int = 0) -> str:
    query = {"run": run_id, **({"episode": episode} if episode else {})}
    return "/inspect?" + urlencode({**query, **({"step": step} if step else {})})


def listed(run: Run) -> list[Stored]:
    """Stored episodes, newest first; one that cannot be read is still listed."""
    found = []
    for folder in traces.listing(run)[:_MOST_LISTED]:
        try:
            meta = traces.load_meta(folder)
            score = f"score {meta.score:g}, {meta.length} steps, {meta.end}"
            changes = f", {' '.join(meta.changes)}" if meta.changes else ""
            found.append(Stored(folder.name, f"{folder.name}  {score}{changes}"))
        except UserError:
            found.append(Stored(folder.name, f"{folder.name}  (cannot be read)"))
    return found


def _outcomes(found: dict[str, Any]) -> None:
    rows = (
        (f"{found['did']} (as it was)", f"{found['before']:g}", str(found["length_before"])),
        (f"{found['tried']} (tried)", f"{found['after']:g}", str(found["length_after"])),
    )
    theme.table(("action", "score", "steps"), rows)


def _explained(step: int, pictures: Sequence[dict[str, str]]) -> None:
    """Saliency, activations and filters, each with the sentence that says what it is."""
    theme.heading(f"How the network looks at step {step}")
    with ui.element("div").classes("studio-grid inspect-vision"):
        for picture in pictures:
            with theme.card(picture["title"]):
                image = ui.element("img").classes("inspect-picture")
                image.props["src"] = f"data:image/png;base64,{picture['png']}"
                image.props["alt"] = picture["title"]  # a run's own words: never parsed
                ui.label(picture["about"]).classes("studio-chart-about")


# --- capture -------------------------------------------------------------------------------------


class _Capture:
    """The form for a new episode."""

    def __init__(self, context: Context, run: Run, checkpoint: str) -> None:
        self._context, self._run = context, run
        self._task: asyncio.Task[object] | None = None
        ui.context.client.on_delete(self._stop)  # it is not needed any more
        with ui.dialog().props("persistent") as self._dialog, ui.card().classes("studio-dialog"):
            theme.heading("Capture an episode")
            self._fields(f"/{checkpoint}" if checkpoint else "")
            self._described = ui.label("").classes("viewer-note")
            self._described.set_visibility(False)
            self._problem = ui.column().classes("w-full")
            with ui.row().classes("w-full justify-end"):
                ui.button("Cancel", on_click=self._cancel).props("flat no-caps")
                self._go = ui.button("Capture", on_click=self._capture).props("unelevated no-caps")

    def _fields(self, chosen: str) -> None:
        there = checkpoints.read(self._run.folder)
        which = {"": "the best one"} | {
            f"/step={one.env_steps}": f"{one.env_steps:,} env steps"
            + (f" ({', '.join(one.roles)})" if one.roles else "")
            for one in reversed(there)
        }
        if chosen not in which:
            raise UserError(f"run {self._run.id} has no checkpoint {chosen[1:]}")
        self._checkpoint = ui.select(which, value=chosen, label="Checkpoint")
        self._mode = ui.select(_MODES, value="greedy", label="Actions")
        self._seed = ui.input("Seed", placeholder="the first of its evaluation")
        self._most = ui.number("Steps at most", value=_MOST_STEPS, min=1, precision=0, format="%d")
        self._changes = ui.textarea("Changed settings", placeholder="env.sticky=0.25")
        for field in (self._checkpoint, self._mode, self._seed, self._most, self._changes):
            field.props("outlined dense").classes("w-full")
        self._changes.props("rows=2 autogrow")

    def open(self) -> None:
        self._dialog.open()

    def _cancel(self) -> None:
        self._stop()
        self._dialog.close()

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _capture(self) -> None:
        self._problem.clear()
        self._go.disable()
        self._say("Starting the policy…")
        try:
            self._task = asyncio.ensure_future(self._captured())
            visit(self._run.id, Path(await self._task).name)
        except (UserError, WorkerError) as error:
            theme.say(self._problem, str(error))
        except asyncio.CancelledError:
            pass  # by the reader; the worker stops by itself
        finally:
            self._task = None
            self._go.enable()
            self._described.set_visibility(False)

    def _say(self, text: str) -> None:
        self._described.set_text(text)
        self._described.set_visibility(True)

    async def _captured(self) -> str:
        mode = self._mode.value
        seed = (self._seed.value or "").strip()
        if seed and not seed.isdecimal():
            raise UserError(f"a seed is a whole number, not '{seed}'")
        folder: str = await self._context.worker.run(
            "spotter.studio.viewer_capture:capture",
            selector=f"{self._run.folder}{self._checkpoint.value}",
            seed=int(seed) if seed else None,
            mode="sampled" if mode == "untrained" else mode,
            untrained=mode == "untrained",
            most_steps=int(self._most.value or _MOST_STEPS),
            overrides=changes(self._changes.value or ""),
            report=lambda steps: self._say(f"{steps:,} steps played…"),
        )
        return folder


def changes(text: str) -> list[str]:
    """`env.sticky=0.25 algo.gamma=0.9`, or one per line; values may hold blanks."""
    return [part.strip() for part in _BETWEEN.split(text.strip()) if part.strip()]
