"""Film: choose a run and a format, and get a video of its policy improving.

The film is made in the worker, lands among the run's videos, and is shown here when it is done.
"""

import asyncio
import time
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from spotter.launch.logs import changed_at
from spotter.launch.worker import WorkerError
from spotter.rundir import checkpoints
from spotter.rundir.access import is_name
from spotter.rundir.run import Run
from spotter.studio import theme
from spotter.studio.context import PATIENCE_S, Context
from spotter.text.numbers import plural
from spotter.types import UserError

_SIZES: Final = {
    "1280x720": "wide, 1280 × 720",
    "1080x1920": "tall, 1080 × 1920",
    "1080x1080": "square, 1080 × 1080",
}
_MOST_LETTERS: Final = 80


def register(context: Context) -> None:
    @ui.page("/film", title="Film", response_timeout=PATIENCE_S)
    async def film(run: str = "") -> None:
        with theme.page("Film"):
            await _Page(context, run).draw()


class _Page:
    """One visit."""

    def __init__(self, context: Context, run_id: str) -> None:
        self.context, self.run_id = context, run_id

    async def draw(self) -> None:
        infos = await asyncio.to_thread(self.context.infos)
        if not infos:
            theme.no_runs()
            return
        self.run_id = self.run_id or str(infos[0]["id"])
        theme.run_picker(
            infos,
            self.run_id,
            lambda id: ui.navigate.to(f"/film?run={quote(id, safe='')}"),
            "w-full film-run",
        )
        run = self.context.run_of(self.run_id)
        kept = await asyncio.to_thread(checkpoints.read, run.folder)
        if not kept:
            theme.empty(
                f"Run {run.id} has no checkpoint yet",
                "A film shows checkpoints; the first is saved within a minute of training.",
            )
            return
        self._form(len(kept))
        self._stage = ui.column().classes("w-full gap-4 film-stage")
        existing = await asyncio.to_thread(films, run)
        with self._stage:
            if existing:
                _player(run, existing[0])
            else:
                theme.empty("No film of this run yet", "Press “Make the film”.")

    def _form(self, kept: int) -> None:
        with theme.card("", "film-form"):
            with ui.row().classes("studio-row"):
                self._title = ui.input("Title (the environment's name if empty)")
                self._title.props(f"outlined dense maxlength={_MOST_LETTERS}")
                self._title.classes("studio-grow")
                self._size = ui.select(_SIZES, value="1280x720", label="Format")
                self._size.props("outlined dense").classes("w-48")
                self._count = _number("Policies", min(4, kept + 1), 1, 12)
                self._seconds = _number("Seconds at most", 30, 4, 600)
                self._seed = _number("Seed", None, 0, 2**31 - 1)
                self._button = ui.button("Make the film", on_click=self._make)
                self._button.props("unelevated no-caps")
            ui.label(
                f"{plural(kept, 'checkpoint')} kept, and the untrained policy. Training keeps all "
                "of them with checkpoint.keep=null. Every episode has the same seed: that of the "
                "first evaluation episode, unless you choose one."
            ).classes("studio-chart-about")

    async def _make(self) -> None:
        """In the worker, with progress on the page."""
        self._button.disable()
        with theme.cleared(self._stage), theme.card():
            progress = ui.label("Waiting for the worker…").props('role="status"')
            ui.linear_progress(show_value=False).props("indeterminate")

        def tell(text: object) -> None:
            progress.set_text(_sentence(str(text)))

        try:
            run = self.context.run_of(self.run_id)
            how = self._wanted()
            made = await self.context.worker.run(
                "spotter.episodes.film:make_to_disk",
                report=tell,
                selector=str(run.folder),
                **how,
            )
            problem = ""
        except (UserError, WorkerError) as error:
            problem = str(error)
        if self._stage.is_deleted:
            return  # the reader has gone; the film is among the run's videos
        self._button.enable()
        with theme.cleared(self._stage):
            if problem:
                theme.problem(problem)
            else:
                _player(run, str(made["file"]), made)

    def _wanted(self) -> dict[str, object]:
        """What the form says, as plain values; `make_film` refuses what makes no sense."""
        how: dict[str, object] = {
            "title": str(self._title.value or "")[:_MOST_LETTERS],
            "size": self._size.value,
            "checkpoints": _whole(self._count.value, "Policies"),
            "seconds": float(_whole(self._seconds.value, "Seconds")),
        }
        if self._seed.value is not None:
            how["seed"] = _whole(self._seed.value, "Seed")
        return how


def films(run: Run) -> list[str]:
    """Names of the films of a run's learning, newest first."""
    found = [path for path in (run.folder / "videos").glob("film-*.mp4") if is_name(path.name)]
    return [path.name for path in sorted(found, key=changed_at, reverse=True)]


def _player(run: Run, name: str, made: dict[str, Any] | None = None) -> None:
    address = f"/files/{quote(run.id, safe='')}/videos/{quote(name, safe='')}"
    with theme.card(), ui.column().classes("w-full items-center gap-3"):
        # a film made again has the name of the one before it
        source = f"{address}?at={time.time_ns()}"
        video = ui.element("video").props(f'src="{source}" controls playsinline preload="auto"')
        video.classes("film-video").style(
            "max-width: 100%; max-height: max(320px, calc(100vh - 400px)); "
            "border-radius: 8px; background: #14161b"
        )
        with ui.row().classes("studio-row"):
            about = "" if made is None else f", {made['seconds']:.0f} s, seed {made['seed']}"
            ui.label(f"{name}{about}").classes("quiet studio-grow")
            ui.link("Download", address).props(f'download="{run.id}-{name}"')
            ui.link("To the run", f"/run/{quote(run.id, safe='')}")
    for stage in () if made is None else made["stages"]:
        if not stage["as_played"]:
            theme.problem(
                f"at {stage['env_steps']:,} env steps the film shows another score than was played "
                "before: this environment does not repeat itself"
            )


def _number(label: str, value: int | None, least: int, most: int) -> ui.number:
    field = ui.number(label, value=value, min=least, max=most, precision=0)
    field.props("outlined dense").classes("w-36")
    return field


def _whole(value: object, what: str) -> int:
    if not isinstance(value, int | float) or value != value or int(value) != value:
        raise UserError(f"{what} should be a whole number")
    return int(value)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "…"
