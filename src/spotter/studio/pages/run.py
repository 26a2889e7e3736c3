"""One run: live charts, alerts with advice, films, checkpoints, settings, log."""

import asyncio
from typing import Final

from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from nicegui import app as pages
from nicegui import ui

from spotter.charts import echarts
from spotter.launch.logs import tail
from spotter.pages.report import write_report
from spotter.rundir.run import Run
from spotter.studio import charts, run_view, starting, theme, zoom
from spotter.studio.charts import Event, Figure, View
from spotter.studio.context import PATIENCE_S, Context
from spotter.studio.head import Head
from spotter.studio.panels import PANELS, plain
from spotter.studio.run_view import Now
from spotter.studio.zoom import Zoom
from spotter.types import UserError

LIVE_EVERY_S: Final = 2.0
_TABS: Final = ("Charts", "Alerts", "Videos", "Checkpoints", "Config", "Log")
# If the user has scrolled up, new lines are added below without moving the view.
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


class _Page:
    """One open run page."""

    def __init__(self, context: Context, run: Run, now: Now) -> None:
        self._context, self._run, self._now = context, run, now
        self._shown: tuple[object, ...] = ()
        self._log: ui.label | None = None
        self._notice = ui.element("div").classes("w-full")
        self._head = Head(context, now, self._do, self.refresh)
        with ui.tabs().props("align=left no-caps dense").classes("studio-tabs") as self._tabs:
            for name in _TABS:
                ui.tab(name)
        with ui.tab_panels(self._tabs, value="Charts", animated=False).classes("studio-panels"):
            self._panels = {name: _panel(name) for name in _TABS}
        self._tabs.on_value_change(self._open_tab)
        with self._panels["Charts"]:
            self._charts = _Charts(run, now)
        self._timer = ui.timer(LIVE_EVERY_S, self.refresh, immediate=False)

    async def refresh(self) -> None:
        """Look at the files again; a run that is gone leaves what was last seen, and says so."""
        try:
            self._now = await asyncio.to_thread(run_view.read, self._context, self._run.id)
        except (UserError, OSError):
            if (self._run.folder / "run.json").exists():
                return  # being written just now; the next look will do
            self._timer.deactivate()
            with self._notice:
                theme.problem(_GONE)
            return
        if self._head.is_gone:
            return
        now = self._now
        info = now.view.info
        stopping = self._context.dispatcher.is_stopping(info["id"], info["pid"])
        policy = (now.has_checkpoint, now.has_episodes)
        marks = (len(now.view.alerts), len(now.changes))
        seen = (info, now.version, marks, now.people, policy, stopping)
        if seen != self._shown:
            self._shown = seen
            self._head.show(now)
            self._charts.update(now)
        if self._tabs.value == "Log":
            await self._follow_log()

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
        """Each is read when it is opened: what is not viewed costs nothing."""
        name = str(self._tabs.value)
        if name == "Log":
            await self._open_log()
        elif name in PANELS:
            try:
                found = await asyncio.to_thread(PANELS[name].read, self._context, self._run)
            except (UserError, OSError) as error:
                theme.say(self._panels[name], str(error))
                return
            with theme.cleared(self._panels[name]):
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
        with theme.cleared(self._panels["Log"]):
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


class _Charts:
    """The charts of one group, and the switches above them."""

    def __init__(self, run: Run, now: Now) -> None:
        self._now = now
        self._catalogue = now.view.catalogue
        self._drawn: list[tuple[Figure, ui.echart]] = []
        self._names: list[str] = []
        self._zoom = Zoom(self._refill)
        with ui.element("div").classes("studio-row"):
            self._chooser = ui.toggle([charts.OVERVIEW], value=charts.OVERVIEW).props(
                'no-caps unelevated dense padding="4px 12px" aria-label="Group of metrics"'
            )
            self._chooser.classes("studio-toggle").on_value_change(self._redraw)
            ui.space()
            self._axis = ui.select(list(charts.AXES), value="env steps", label="x axis")
            self._axis.props("outlined dense options-dense").classes("studio-axis")
            self._axis.on_value_change(self._change_axis)
            with ui.element("div").classes("studio-smooth"):
                ui.label("smoothing").classes("studio-fact-name")
                self._smoothing = ui.slider(min=0, max=0.98, step=0.02, value=0)
                self._smoothing.props('aria-label="Smoothing" dense').on_value_change(self._refill)
        self._grid = ui.element("div").classes("studio-grid")
        with ui.element("div").classes("studio-row"):
            self._legend = {
                text: ui.label(f"┆ {text}").classes("studio-chart-about").style(f"color: {colour}")
                for text, colour in charts.LEGEND.items()
            }
        ui.label(zoom.HINT).classes("studio-chart-about")
        self._redraw()

    def update(self, now: Now) -> None:
        self._now = now
        groups = self._groups()
        names = [chart.title for chart in groups.get(str(self._chooser.value), [])]
        if names != self._names or list(groups) != self._chooser.options or not self._drawn:
            self._redraw()  # a metric appeared that was not there before
        else:
            self._refill()

    def _groups(self) -> dict[str, list[Figure]]:
        actions = self._now.view.info["actions"]
        return charts.groups(self._catalogue, self._now.view.history.keys, actions)

    def _show_legend(self) -> None:
        there = (self._now.view.alerts, self._now.changes)
        for label, marks in zip(self._legend.values(), there, strict=True):
            label.set_visibility(bool(marks))

    def _redraw(self) -> None:
        groups = self._groups()
        if list(groups) != self._chooser.options:
            self._chooser.set_options(list(groups), value=self._chooser.value)
        wanted = groups.get(str(self._chooser.value), [])
        self._names = [chart.title for chart in wanted]
        self._drawn = []
        self._show_legend()
        with theme.cleared(self._grid):
            if not self._now.view.history.rows:
                theme.empty(*_no_curves(self._now))
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
        self._show_legend()
        for chart, element in self._drawn:
            element.options.clear()
            element.options.update(self._options(chart))
            element.update()

    def _options(self, figure: Figure) -> dict[str, object]:
        axis, weight = charts.AXES[str(self._axis.value)], float(self._smoothing.value or 0)
        view = View(axis, weight, self._zoom.window)
        now = self._now
        events = [Event(each.first or 0, each.id, each.metric) for each in now.view.alerts]
        events += [
            Event(each.env_steps, each.text, everywhere=True, kind="change") for each in now.changes
        ]
        found = charts.panel(figure, now.view.history, view, events, now.people)
        return self._zoom.apply(echarts.drawn(found))


# --- small pieces ------------------------------------------------------------------------------


def _no_curves(now: Now) -> tuple[str, str]:
    """Why there are none, and what to do about it."""
    if now.is_living:
        return "No update has finished yet", "Curves appear with the first one."
    return "No update was finished", "What the run printed is under Log."


def _panel(name: str) -> ui.element:
    with ui.tab_panel(name).classes("studio-panel"):
        return ui.element("div").classes("w-full studio-stack")


def _is_old(run: Run) -> bool:
    """Whether the report was written before the run's last word."""
    try:
        written = (run.folder / "report.html").stat().st_mtime
        return written < max(run.metrics_path.stat().st_mtime, run.events_path.stat().st_mtime)
    except OSError:
        return True


def register(context: Context) -> None:
    """Declare `/run/{id}` and `/report/{id}`."""

    @ui.page("/run/{id}", response_timeout=PATIENCE_S)
    async def show(id: str) -> None:
        with theme.frame(id[:40]):
            try:
                run = context.run_of(id)
                now = await asyncio.to_thread(run_view.read, context, id)
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
