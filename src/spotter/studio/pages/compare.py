"""Runs side by side: curves over seeds with confidence intervals, what differs, and lineage.

Curves are thinned on the server; a visit reads each run once and then only what was added to it.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

from nicegui import ui

from spotter.charts import echarts
from spotter.intervals import FEW_SEEDS, FEWEST_SEEDS, over_seeds
from spotter.metrics.spec import MetricSpec
from spotter.rundir import curves as grouping
from spotter.rundir.compare import warnings
from spotter.rundir.curves import Group, Middle
from spotter.rundir.group import members
from spotter.rundir.identity import Info
from spotter.rundir.view import RunView
from spotter.studio import compare_charts, groups, theme
from spotter.studio.context import PATIENCE_S, Context
from spotter.studio.zoom import HINT, Zoom
from spotter.text.numbers import plural, plus_minus, score, to_threshold
from spotter.types import UserError

MOST_RUNS: Final = 50
_MIDDLES: Final[dict[Middle, str]] = {"median": "median", "iqm": "interquartile mean"}
_REFRESH_S: Final = 4.0
_AT_ONCE_S: Final = 0.4  # what takes no longer comes with the page
_HEADS: Final = ("", "run", "seed", "score", "95 % interval", "judged on", "steps to threshold")
CSS: Final = theme.STATIC / "inspector.css"


def register(context: Context) -> None:
    @ui.page("/compare", title="Compare", response_timeout=PATIENCE_S)
    async def compare(runs: str = "", metric: str = "", middle: str = "median") -> None:
        with theme.page("Compare"):
            ui.add_css(CSS)
            ids = list(dict.fromkeys(part for part in runs.split(",") if part))
            await _Page(context, ids, metric, middle).draw()


def address(ids: Sequence[str], metric: str = "", middle: str = "median") -> str:
    query = {"runs": ",".join(ids)}
    query |= {"metric": metric} if metric and metric != compare_charts.USUAL else {}
    query |= {"middle": middle} if middle != "median" else {}
    return "/compare?" + urlencode(query, safe=",/")


class _Page:
    """One visit."""

    def __init__(self, context: Context, ids: Sequence[str], metric: str, middle: str) -> None:
        self.context, self.ids = context, list(ids)
        self.metric = metric or compare_charts.USUAL
        self.middle: Middle = "iqm" if middle == "iqm" else "median"
        self.together = True
        self.zoom = Zoom(self._refresh)
        self._drawn: object = None

    async def draw(self) -> None:
        infos = await asyncio.to_thread(self.context.infos)
        if not infos:
            theme.empty("There are no runs to compare yet", "Start one: spotter train CartPole-v1")
            return
        self.ids = _expanded(self.ids, infos)
        self._picker(infos)
        if not self.ids:
            theme.empty(
                "Choose the runs to compare",
                "Pick them above, or tick them on the Runs page. Runs that differ in nothing but "
                "the seed become one curve with an interval.",
            )
            return
        if len(self.ids) > MOST_RUNS:
            raise UserError(f"{len(self.ids)} runs are too many to compare; choose {MOST_RUNS}")
        self.runs = [self.context.run_of(id) for id in self.ids]
        place = ui.column().classes("w-full gap-5")
        reading = asyncio.ensure_future(self._begin())
        await asyncio.wait([reading], timeout=_AT_ONCE_S)
        if not reading.done():  # many files, read for the first time: the page is there meanwhile
            with place:
                waiting = ui.label(f"Reading {len(self.runs)} runs…").classes("quiet")
            await ui.context.client.connected()
            await reading
            waiting.delete()
        with place:
            await self._sections(reading.result(), infos)

    def _picker(self, infos: Sequence[Info]) -> None:
        names = {info["id"]: _name(info) for info in infos}
        known = names | {id: id for id in self.ids if id not in names}
        picker = ui.select(
            known, value=self.ids, label="Runs", multiple=True, with_input=True, clearable=True
        )
        picker.props('outlined dense use-chips hide-dropdown-icon input-debounce="0"')
        picker.classes("w-full compare-runs")
        # only once the list is closed: a page that reloads at every tick cannot be ticked in
        is_open = False

        def opened(value: bool) -> None:
            nonlocal is_open
            is_open = value
            changed()

        def changed() -> None:
            if not is_open:
                self._chosen(picker.value)

        picker.on("popup-show", lambda: opened(True))
        picker.on("popup-hide", lambda: opened(False))
        picker.on_value_change(changed)

    def _chosen(self, ids: Sequence[str] | None) -> None:
        chosen = list(ids or [])
        if chosen != self.ids:
            ui.navigate.to(address(chosen, self.metric, self.middle))

    async def _begin(self) -> compare_charts.Curves:
        self.grouped = await asyncio.to_thread(grouping.groups, self.runs)
        return await self._read()

    async def _read(self) -> compare_charts.Curves:
        read = compare_charts.read
        return await asyncio.to_thread(read, self.context.histories, self.runs, self.metric)

    async def _sections(self, curves: compare_charts.Curves, infos: Sequence[Info]) -> None:
        views = await asyncio.to_thread(groups.views, self.runs)
        self.warned = ui.column().classes("w-full gap-2 compare-warnings")
        with self.warned:
            for text in warnings(views) if len(views) > 1 else ():
                ui.label(text[:1].upper() + text[1:] + ".").classes("studio-notice")
        with theme.card():
            self._controls(curves)
            options = await asyncio.to_thread(self._options, curves)
            self.chart = ui.echart(options).classes("compare-line")
            self.zoom.follow(self.chart)
            self.about = ui.label("").classes("studio-chart-about")
            ui.label(HINT).classes("studio-chart-about")
            self.advised = ui.column().classes("w-full gap-1 compare-advice")
            self._say(curves)
        _scores(self.grouped, views)
        await self._differences()
        _family(self.ids, infos)
        if any(view.status == "running" for view in views):
            ui.timer(_REFRESH_S, self._refresh)

    def _controls(self, curves: compare_charts.Curves) -> None:
        catalogue = compare_charts.catalogue_of(self.runs)
        names = {key: _metric(key, catalogue.find(key)) for key in curves.keys}
        if self.metric not in names:
            names = {self.metric: self.metric, **names}
        several = any(group.distinct > 1 for group in self.grouped)
        with ui.row().classes("studio-row"):
            chosen = ui.select(names, value=self.metric, label="Metric", with_input=True)
            chosen.props("outlined dense").classes("studio-grow compare-metric")
            chosen.on_value_change(lambda e: self._change("metric", e.value))
            if several:
                over = ui.select(_MIDDLES, value=self.middle, label="Over seeds")
                over.props("outlined dense").classes("compare-middle")
                over.on_value_change(lambda e: self._change("middle", e.value))
                switch = ui.switch("Seeds together", value=True)
                switch.on_value_change(lambda e: self._change("together", e.value))

    async def _change(self, name: str, value: object) -> None:
        if value is None:
            return
        setattr(self, name, value)
        here = json.dumps(address(self.ids, self.metric, self.middle))
        ui.run_javascript(f"history.replaceState(history.state, '', {here})")
        await self._refresh()

    async def _refresh(self) -> None:
        """Draw again where anything is new."""
        curves = await self._read()
        if self._wanted(curves) != self._drawn:
            options = await asyncio.to_thread(self._options, curves)
            self.chart.options.clear()
            self.chart.options.update(options)
            self.chart.update()
            self._say(curves)

    def _options(self, curves: compare_charts.Curves) -> dict[str, object]:
        self._drawn = self._wanted(curves)
        shown = self.grouped if self.together else grouping.each_alone(self.runs)
        window = self.zoom.window
        panel = compare_charts.panel(shown, curves, self.middle, window)
        return self.zoom.apply(echarts.drawn(panel))

    def _wanted(self, curves: compare_charts.Curves) -> object:
        """What the chart depends on."""
        return curves.version, self.middle, self.together, self.zoom.window

    def _say(self, curves: compare_charts.Curves) -> None:
        spec = compare_charts.catalogue_of(self.runs).find(self.metric)
        self.about.set_text(_about(self.metric, spec, self.grouped, self.middle))
        with theme.cleared(self.advised):
            if curves.is_empty:
                theme.problem(f"none of these runs has written {curves.metric}")
            for text in grouping.advice(self.grouped):
                ui.label(text).classes("studio-chart-about")

    async def _differences(self) -> None:
        """Only what is not the same everywhere."""
        with theme.card("Settings that differ", "compare-diff"):
            if len(self.runs) < 2:
                ui.label("Add another run to compare.").classes("quiet")
                return
            several = any(len(group.runs) > 1 for group in self.grouped)
            first = [group.runs[0] for group in self.grouped]
            differ = await asyncio.to_thread(grouping.settings_that_differ, first)
            if several:
                differ.pop("seed", None)
            if not differ:
                but = "nothing but the seed" if several else "no setting"
                ui.label(f"None: these runs differ in {but}.").classes("quiet")
                return
            heads = [_side(group) for group in self.grouped]
            theme.table(["setting", *heads], [[name, *texts] for name, texts in differ.items()])


# --- pieces --------------------------------------------------------------------------------------


def _expanded(names: Sequence[str], infos: Sequence[Info]) -> list[str]:
    """Ids of runs, those of groups included, each once."""
    found: dict[str, None] = {}
    for name in names:
        ids = [str(info["id"]) for info in members(name, infos)]
        found |= dict.fromkeys(ids or [name])
    return list(found)


def _side(group: Group) -> str:
    return group.label if len(group.runs) > 1 else group.runs[0].id


def _name(info: Info) -> str:
    return f"{info['id']}  {info['address']}  seed {info['seed']}"


def _metric(key: str, spec: MetricSpec | None) -> str:
    return f"{key}: {spec.meaning}" if spec else key


def _about(metric: str, spec: MetricSpec | None, shown: Sequence[Group], middle: Middle) -> str:
    meaning = f"{metric}: {spec.meaning}." if spec else f"{metric}."
    if any(group.distinct >= FEWEST_SEEDS for group in shown):
        meaning += (
            f" Thick: {_MIDDLES[middle]} over seeds, as far as every seed got; the band is its "
            "95 % bootstrap interval over seeds; thin: single seeds."
        )
    return meaning


def _scores(shown: Sequence[Group], views: Sequence[RunView]) -> None:
    """A line per run, and one per group of seeds."""
    by_run = {one.run.folder: one for one in views}
    rows: list[list[str]] = []
    for group in shown:
        found = [by_run[run.folder] for run in group.runs]
        several = group.distinct > 1
        rows += [_outcome(one, "" if several else group.label) for one in found]
        scores = {one.info["seed"]: one.score.mean for one in reversed(found) if one.score}
        if several and scores:
            over = over_seeds(list(scores.values()))
            spread = FEW_SEEDS if over.half is None else f"± {score(over.half)}"
            label = f"{len(scores)} seeds together"
            rows.append([group.label, label, "", score(over.mean), spread, "over seeds", ""])
    with theme.card("Scores", "compare-scores"):
        theme.table(_HEADS, rows)
        ui.label(
            "The interval of one run is over its evaluation episodes: how sure that score is, not "
            "how good its settings are. Only several seeds say that."
        ).classes("studio-chart-about")


def _outcome(one: RunView, label: str) -> list[str]:
    found = one.score
    half = ""
    if found is not None and found.half is not None:
        spread = plus_minus(found.mean, found.half).partition(" ")[2]
        half = f"{spread} over {plural(found.episodes, 'episode')}"
    steps = to_threshold(one.steps_to_threshold, one.total_steps_to_threshold)
    return [
        "" if label == one.run.id else label.removeprefix(one.run.id).strip(),
        one.run.id, str(one.info["seed"]), score(found.mean) if found else "not scored yet",
        half, f"{found.seeds} seeds" if found else "", steps,
    ]  # fmt: skip


def _family(ids: Sequence[str], infos: Sequence[Info]) -> None:
    kin = groups.lineage(ids, infos)
    with theme.card("Lineage", "compare-family"):
        if all(one.parent is None for one in kin):
            ui.label(
                "None of these runs began with another one's policy. Forks and runs started "
                "--from another run appear here as a tree."
            ).classes("quiet")
            return
        options, height = compare_charts.tree(kin, ids)
        tree = ui.echart(options, on_point_click=lambda e: _visit(e.data))
        tree.classes("compare-tree").style(f"height: {height}px")


def _visit(data: object) -> None:
    if isinstance(data, Mapping) and data.get("run"):
        ui.navigate.to(f"/run/{data['run']}")
