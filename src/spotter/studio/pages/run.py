"""One run: live charts, alerts with advice, films, checkpoints, settings, log."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from nicegui import app as pages
from nicegui import ui

from spotter.display.words import amount, count, duration, score
from spotter.launch.local import tail
from spotter.rundir import identity, selectors
from spotter.rundir.history import History
from spotter.rundir.identity import Info
from spotter.rundir.report import write_report
from spotter.rundir.run import Run
from spotter.studio import charts, starting, theme, told, zoom
from spotter.studio.charts import Chart, Mark, View
from spotter.studio.context import Context
from spotter.studio.panels import PANELS, plain
from spotter.studio.series import AXES
from spotter.studio.tagging import Tags
from spotter.studio.zoom import Zoom
from spotter.traces.human import Baseline, baselines
from spotter.types import UserError

LIVE_EVERY_S: Final = 2.0
_TABS: Final = ("Charts", "Alerts", "Videos", "Checkpoints", "Config", "Log")
_ACTIONS: Final[dict[str, starting.Action]] = {
    "Stop": starting.stop,
    "Resume": starting.resume,
    "Fork": starting.fork,
}
_SMALL: Final = 'outline dense padding="4px 12px"'
# Whoever has scrolled up is reading: new lines come below, and nothing moves before their eyes.
_FOLLOW: Final = """(function follow() {
  const log = document.getElementById('%s');
  if (!log) return setTimeout(follow, 20);
  let atEnd = true;
  const toEnd = () => { if (atEnd) log.scrollTop = log.scrollHeight; };
  log.onscroll = () => { atEnd = log.scrollTop + log.clientHeight > log.scrollHeight - 8; };
  new MutationObserver(toEnd).observe(log, { childList: true, characterData: true, subtree: true });
  toEnd();
})()"""
_GONE: Final = "This run is gone: its folder was deleted or moved."


@dataclass
class _Now:
    """What the files say at one moment; read in a thread."""

    info: Info
    history: History
    version: int
    alerts: list[told.Warned]
    people: list[Baseline]


class _Page:
    """One open run page."""

    def __init__(self, context: Context, run: Run, now: _Now) -> None:
        self._context, self._run, self._now = context, run, now
        self._shown: tuple[Any, ...] = ()
        self._log: ui.label | None = None
        self._notice = ui.element("div").classes("w-full")
        with ui.element("div").classes("w-full studio-stack") as self._head:
            self._build_head()
        with ui.tabs().props("align=left no-caps dense").classes("studio-tabs") as self._tabs:
            for name in _TABS:
                ui.tab(name)
        with ui.tab_panels(self._tabs, value="Charts", animated=False).classes("studio-panels"):
            self._panels = {name: _panel(name) for name in _TABS}
        self._tabs.on_value_change(self._open_tab)
        self._update_head()
        with self._panels["Charts"]:
            self._charts = _Charts(run, now)
        self._timer = ui.timer(LIVE_EVERY_S, self.refresh, immediate=False)

    async def refresh(self) -> None:
        """Look at the files again; a run that is gone leaves what was last seen, and says so."""
        try:
            self._now = await asyncio.to_thread(read, self._context, self._run.id)
        except (UserError, OSError):
            if (self._run.folder / "run.json").exists():
                return  # being written just now; the next look will do
            self._timer.deactivate()
            with self._notice:
                theme.problem(_GONE)
            return
        if self._head.is_deleted:
            return
        info = self._now.info
        stopping = self._context.launcher.is_stopping(info["id"], info["pid"])
        seen = (info, self._now.version, len(self._now.alerts), self._now.people, stopping)
        if seen != self._shown:
            self._shown = seen
            self._update_head()
            self._charts.update(self._now)
        if self._tabs.value == "Log":
            await self._follow_log()

    # --- head ------------------------------------------------------------------------------------

    def _build_head(self) -> None:
        """Built once: what is clicked or focused must not vanish with the next update."""
        info = self._now.info
        with ui.element("div").classes("studio-row"):
            theme.heading(info["address"], 1)
            self._status = ui.label()
            ui.space()
            self._actions(info)
        with ui.element("div").classes("studio-row quiet"):
            ui.label(info["id"]).classes("mono")
            self._sentence = ui.label()
            if info["parent"]:
                parent = str(info["parent"]["run"])
                ui.link(f"forked from {parent}", f"/run/{quote(parent, safe='')}")
        self._tags = Tags(self._context, info["id"], self.refresh)
        self._facts = {}
        with ui.element("div").classes("studio-facts studio-card"):
            for name in _facts(self._now):
                with ui.element("div"):
                    ui.label(name).classes("studio-fact-name")
                    self._facts[name] = ui.label().classes("studio-fact-value")

    def _update_head(self) -> None:
        info = self._now.info
        living = info["status"] == "running"
        stopping = living and self._context.launcher.is_stopping(info["id"], info["pid"])
        word = "stopping" if stopping else str(info["status"])
        self._status.text = word
        self._status.classes(replace=f"studio-status studio-status-{plain(word)}")
        self._sentence.text = " · ".join(_sentences(info))
        self._tags.show(info["tags"])
        for name, value in _facts(self._now).items():
            self._facts[name].text = value
        self._buttons["Stop"].visible = living and not stopping
        self._buttons["Resume"].visible = not living

    def _actions(self, info: Info) -> None:
        self._buttons = {
            text: ui.button(text, on_click=partial(self._do, action)).props(_SMALL)
            for text, action in _ACTIONS.items()
        }
        id = quote(info["id"], safe="")
        for text, target, new in (
            ("Inspect", f"/inspect?run={id}", False),
            ("Play", f"/play?run={id}", False),
            ("Report", f"/report/{id}", True),
        ):
            ui.link(text, target, new_tab=new).classes("studio-action")

    async def _do(self, action: starting.Action) -> None:
        try:
            run = self._context.run_of(self._run.id)
        except UserError:
            await self.refresh()
            return
        await action(self._context, run)
        await self.refresh()

    # --- tabs ------------------------------------------------------------------------------------

    async def _open_tab(self) -> None:
        """Each is read when it is opened: what nobody looks at costs nothing."""
        name = str(self._tabs.value)
        if name == "Log":
            await self._open_log()
        elif name in PANELS:
            try:
                found = await asyncio.to_thread(PANELS[name].read, self._context, self._run)
            except (UserError, OSError) as error:
                with _cleared(self._panels[name]):
                    theme.problem(str(error))
                return
            with _cleared(self._panels[name]):
                PANELS[name].draw(self._run, found)

    async def _open_log(self) -> None:
        self._log = None
        await self._follow_log()

    async def _follow_log(self) -> None:
        """Lines are added to what is there; the browser decides whether it moves."""
        text = await asyncio.to_thread(self._log_text)
        if self._log is not None and text:
            self._log.text = text
            return
        with _cleared(self._panels["Log"]):
            if not text:
                theme.empty("Nothing was printed yet")
                return
            self._log = ui.label(text).classes("studio-log")
            self._log.props('tabindex="0" role="log" aria-label="Log"')
            ui.run_javascript(_FOLLOW % self._log.html_id)

    def _log_text(self) -> str:
        try:
            return tail(self._context.file_of(self._run.id, "run.log"))
        except UserError:
            return ""


def read(context: Context, id: str) -> _Now:
    """Everything the page follows, as it is now."""
    run = context.run_of(id)
    history = context.histories.of(run)
    return _Now(run.info(), history, history.version, told.alerts(run), baselines([run]))


class _Charts:
    """The charts of one group, and the switches above them."""

    def __init__(self, run: Run, now: _Now) -> None:
        self._now = now
        self._catalogue = charts.catalogue(now.info["algo"])
        self._drawn: list[tuple[Chart, ui.echart]] = []
        self._names: list[str] = []
        self._zoom = Zoom(self._refill)
        with ui.element("div").classes("studio-row"):
            self._chooser = ui.toggle([charts.OVERVIEW], value=charts.OVERVIEW).props(
                'no-caps unelevated dense padding="4px 12px" aria-label="Group of metrics"'
            )
            self._chooser.classes("studio-toggle").on_value_change(self._redraw)
            ui.space()
            self._axis = ui.select(list(AXES), value="env steps", label="x axis")
            self._axis.props("outlined dense options-dense").classes("studio-axis")
            self._axis.on_value_change(self._change_axis)
            with ui.element("div").classes("studio-smooth"):
                ui.label("smoothing").classes("studio-fact-name")
                self._smoothing = ui.slider(min=0, max=0.98, step=0.02, value=0)
                self._smoothing.props('aria-label="Smoothing" dense').on_value_change(self._refill)
        self._grid = ui.element("div").classes("studio-grid")
        ui.label(zoom.HINT).classes("studio-chart-about")
        self._redraw()

    def update(self, now: _Now) -> None:
        self._now = now
        groups = self._groups()
        names = [chart.title for chart in groups.get(str(self._chooser.value), [])]
        if names != self._names or list(groups) != self._chooser.options or not self._drawn:
            self._redraw()  # a metric appeared that was not there before
        else:
            self._refill()

    def _groups(self) -> dict[str, list[Chart]]:
        actions = self._now.info["actions"]
        return charts.groups(self._catalogue, self._now.history.keys, actions)

    def _redraw(self) -> None:
        groups = self._groups()
        if list(groups) != self._chooser.options:
            self._chooser.set_options(list(groups), value=self._chooser.value)
        wanted = groups.get(str(self._chooser.value), [])
        self._names = [chart.title for chart in wanted]
        self._drawn = []
        with _cleared(self._grid):
            if not self._now.history.rows:
                theme.empty("No update has finished yet", "Curves appear with the first one.")
                return
            for chart in wanted:
                with ui.element("figure").classes("studio-card studio-figure"):
                    element = ui.echart(self._options(chart)).classes("studio-chart")
                    element.props(f'role="img" aria-label="{plain(chart.title)}"')
                    self._zoom.follow(element)
                    if chart.about:
                        ui.label(chart.about).classes("studio-chart-about")
                self._drawn.append((chart, element))

    def _change_axis(self) -> None:
        self._zoom.window = None
        self._refill()

    def _refill(self) -> None:
        for chart, element in self._drawn:
            element.options.clear()
            element.options.update(self._options(chart))
            element.update()

    def _options(self, chart: Chart) -> dict[str, Any]:
        axis, weight = AXES[str(self._axis.value)], float(self._smoothing.value or 0)
        view = View(axis, weight, self._zoom.window)
        marks = [Mark(each.env_steps, each.id, each.metric) for each in self._now.alerts]
        now = self._now
        return self._zoom.apply(charts.options(chart, now.history, view, marks, now.people))


# --- small pieces ------------------------------------------------------------------------------


@contextmanager
def _cleared(element: ui.element) -> Iterator[None]:
    element.clear()
    with element:
        yield


def _panel(name: str) -> ui.element:
    with ui.tab_panel(name).classes("studio-panel"):
        return ui.element("div").classes("w-full studio-stack")


def _sentences(info: Info) -> list[str]:
    by = f"started by {info['by']} on {info['host']}, {info['created'][:16].replace('T', ' ')} UTC"
    ended = f"ended: {info['reason']}" if info["reason"] else ""
    return [text for text in (by, ended, info["why"], info["protocol"]) if text]


def _facts(now: _Now) -> dict[str, str]:
    info, history = now.info, now.history
    value = selectors.value(info)
    steps = max(info["env_steps"], int(_or_zero(history.last("env_steps"))))
    return {
        "score": score(value) if value > float("-inf") else "–",
        "training score": _number(history.last("train/score"), score),
        "env steps": amount(steps, 0),
        "time": duration(identity.seconds(info)),
        "fps": _number(history.last("time/fps"), lambda fps: f"{fps:,.0f}"),
        "seed": str(info["seed"]),
        "alerts": str(len(now.alerts)),
        "updates": count(history.rows),
    }


def _number(value: float, words: Callable[[float], str]) -> str:
    return words(value) if abs(value) < float("inf") else "–"


def _or_zero(value: float) -> float:
    return value if abs(value) < float("inf") else 0.0


def _is_old(run: Run) -> bool:
    """Whether the report was written before the run's last word."""
    try:
        written = (run.folder / "report.html").stat().st_mtime
        return written < max(run.metrics_path.stat().st_mtime, run.events_path.stat().st_mtime)
    except OSError:
        return True


def register(context: Context) -> None:
    """Declare `/run/{id}` and `/report/{id}`."""

    @ui.page("/run/{id}")
    async def show(id: str) -> None:
        with theme.frame(id[:40]):
            try:
                run = context.run_of(id)
                now = await asyncio.to_thread(read, context, id)
            except (UserError, OSError) as error:
                theme.problem(str(error))
                ui.link("All runs", "/")
                return
            _Page(context, run, now)

    @pages.get("/report/{id}")
    def report(id: str) -> Response:
        try:
            run = context.run_of(id)
            if _is_old(run):
                write_report(run)
        except (UserError, OSError) as error:
            return PlainTextResponse(str(error), 404)
        return RedirectResponse(f"/files/{run.id}/report.html", 303)
