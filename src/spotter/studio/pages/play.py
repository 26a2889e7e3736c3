"""Play: choose a game and a player, then control it in the browser.

The page chooses and starts; frames and keys go over a websocket of their own between
`static/play.js` and the game's process (`studio/arena.py`).
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from nicegui import app, ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments
from starlette.websockets import WebSocket

from spotter.config import recipes
from spotter.episodes import format as traces
from spotter.plugins import did_you_mean
from spotter.rundir import checkpoints
from spotter.studio import theme, viewer
from spotter.studio.arena import Arena
from spotter.studio.context import PATIENCE_S, Context
from spotter.types import UserError

CSS: Final = theme.STATIC / "play.css"
MODES: Final = {
    "human": "You",
    "agent": "The agent",
    "untrained": "Untrained",
    "race": "Race",
}
_RECIPE: Final = "recipe "
_MOST_SEED: Final = 2**31 - 1
_MOST_LISTED: Final = 300
_MOST_DIGITS: Final = 9


class Player(Element, component=str(theme.STATIC / "play.js")):
    """The game, drawn by the browser."""

    def connect(self, name: str, run: str, start: int) -> None:
        """Which game to show; the game itself may be quicker in saying that it is ready."""
        self.run_method("connect", name, run, start)


def register(context: Context) -> None:
    arena = Arena(context.worker)
    app.on_shutdown(arena.close)

    @app.websocket("/ws/play/{name}")
    async def talk(socket: WebSocket, name: str) -> None:
        await arena.serve(socket, name)

    @ui.page("/play", title="Play", response_timeout=PATIENCE_S)
    async def play(
        run: str = "",
        recipe: str = "",
        checkpoint: str = "",
        mode: str = "",
        episode: str = "",
        step: str = "0",
    ) -> None:
        with theme.page("Play"):
            ui.add_css(CSS)
            if run:
                context.run_of(run)
            known = await asyncio.to_thread(_sources, context)
            page = _Page(context, arena, known)
            if episode:
                folder = viewer.Shelf(context.run_of).folder(run, episode)
                page.take_over(run, folder, _whole(step))
            else:
                page.draw(run, recipe, checkpoint, mode)


class _Page:
    """One visit, with at most one game."""

    def __init__(self, context: Context, arena: Arena, known: dict[str, str]) -> None:
        self._context = context
        self._arena = arena
        self._known = known
        self._game, self._starts = "", 0
        self._taken: dict[str, object] | None = None
        """What to order instead of what the fields say."""

    def take_over(self, run: str, folder: Path, step: int) -> None:
        """The episode determines the game; the user decides when it continues."""
        meta = traces.load(folder).meta
        self._taken = {"mode": "human", "episode": str(folder), "step": step}
        with ui.row().classes("studio-row play-taken"):
            query = urlencode({"run": run, "episode": folder.name, "step": step})
            ui.label(f"You take over at step {step} of").classes("quiet")
            ui.link(folder.name, f"/inspect?{query}")
            ui.link("play something else", f"/play?{urlencode({'run': run})}")
        self.draw(run, "", f"step={meta.step}", "human")
        self._seed.set_value(str(meta.seed))
        for field in (self._source, self._checkpoint, self._mode, self._seed):
            field.set_enabled(False)
        self._player.on("here", self._start)  # nothing moves before a key

    def draw(self, run: str, recipe: str, checkpoint: str, mode: str) -> None:
        if run and run not in self._known:  # too old for the list, or its run.json is damaged
            self._known = {run: run, **self._known}
        known = self._known
        first = run or next(iter(known), "")
        if recipe:
            first = f"{_RECIPE}{recipe.partition(':')[0]}"  # variants differ in how one learns
            if first not in known:
                addresses = [name.removeprefix(_RECIPE) for name in known]
                raise UserError(f"there is no recipe '{recipe}'{did_you_mean(recipe, addresses)}")
        with ui.element("section").classes("studio-card"), ui.row().classes("studio-row"):
            self._source = ui.select(
                known, value=first, label="Run or recipe", with_input=True,
                on_change=lambda: self._chose(),
            ).props("outlined dense").classes("studio-grow play-source")  # fmt: skip
            self._checkpoint = ui.select({"": "best"}, value="", label="Checkpoint")
            self._checkpoint.props("outlined dense").classes("play-checkpoint").style(
                "width: 170px"
            )
            self._mode = ui.toggle(MODES, value="human").props("no-caps unelevated")
            self._mode.classes("play-mode").props('aria-label="Who plays"')
            self._seed = ui.input("Seed", placeholder="random").props("outlined dense")
            self._seed.style("width: 110px")
            ui.button("Start", on_click=self._start).props("unelevated no-caps")
        self._problem = ui.element("div").classes("w-full")
        self._player = Player()
        self._player.on("said", self._said)
        self._chose()
        if checkpoint in self._checkpoint.options:
            self._checkpoint.set_value(checkpoint)
        if mode in MODES:
            self._mode.set_value(mode)
        ui.context.client.on_delete(self._leave)
        self._arena.prepare()

    @property
    def _run(self) -> str:
        """The id of the chosen run; empty for a recipe."""
        chosen = str(self._source.value or "")
        return "" if chosen.startswith(_RECIPE) else chosen

    def _chose(self) -> None:
        """Recipes have no checkpoints, and no agent to race against."""
        which: dict[str, str] = {}
        if self._run:
            try:
                which = _checkpoints(self._context, self._run)
            except UserError:
                which = {}  # deleted meanwhile: Start says so
        self._checkpoint.set_options({"": "best"} | which, value="")
        self._checkpoint.set_enabled(bool(which))
        allowed = MODES if which else {"human": MODES["human"], "untrained": MODES["untrained"]}
        wanted = self._mode.value if self._mode.value in allowed else "human"
        self._mode.set_options(allowed, value=wanted)

    def _start(self) -> None:
        self._problem.clear()
        try:
            self._starts += 1
            order = {**self._order(), "start": self._starts}
            self._game = self._arena.open(order, self._game)
        except UserError as error:
            theme.say(self._problem, str(error))
        else:
            self._player.connect(self._game, self._run, self._starts)

    def _order(self) -> dict[str, object]:
        if self._taken is not None:
            return self._taken
        source, mode = str(self._source.value or ""), str(self._mode.value)
        if source not in self._known or mode not in MODES:
            raise UserError("choose a run or a recipe first")
        seed = str(self._seed.value or "").strip()
        if seed and not (seed.isascii() and seed.isdecimal() and int(seed) <= _MOST_SEED):
            raise UserError(f"a seed is a whole number from 0 to {_MOST_SEED}, not '{seed[:20]}'")
        if self._run:
            folder = self._context.run_of(self._run).folder
            which = str(self._checkpoint.value or "")
            if which and which not in _checkpoints(self._context, self._run):
                raise UserError(f"run {self._run} has no checkpoint {which} any more")
            source = f"{folder}/{which}" if which else str(folder)
        else:
            source = source.removeprefix(_RECIPE)
        return {"source": source, "mode": mode, "seed": int(seed) if seed else None}

    def _leave(self) -> None:
        if self._game:
            self._arena.leave(self._game)
            self._game = ""

    def _said(self, event: GenericEventArguments) -> None:
        ui.notify(str(event.args)[:300], type="warning")


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise UserError(f"a step is a whole number, not '{text[:20]}'")
    return int(text)


def _sources(context: Context) -> dict[str, str]:
    """What can be played: runs, newest first, then recipes."""
    runs = {info["id"]: _line(info) for info in context.infos()[:_MOST_LISTED]}
    return runs | {f"{_RECIPE}{name}": f"{name} (recipe)" for name in recipes.files()}


def _line(info: Mapping[str, object]) -> str:
    score = info["best"] if info["score"] is None else info["score"]
    scored = "" if score is None else f" · score {score:g}"
    return f"{info['address']}{scored} · {info['id']}"


def _checkpoints(context: Context, run: str) -> dict[str, str]:
    """`step=N` -> what it is called, newest first."""
    return {
        f"step={one.env_steps}": " ".join((f"{one.env_steps:,}", *one.roles))
        for one in reversed(checkpoints.read(context.run_of(run).folder))
    }
