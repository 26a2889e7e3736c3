"""Runs: all in the folder of runs, live, however it was started, and a form to start more."""

import asyncio
import math
import threading
from time import monotonic
from typing import Any, Final

from nicegui import ui

from spotter.charts.svg import polyline
from spotter.rundir import query, selectors
from spotter.rundir.identity import Info
from spotter.rundir.judged import judged
from spotter.rundir.run import Run
from spotter.studio import run_view, starting, theme
from spotter.studio.context import PATIENCE_S, Context
from spotter.text.numbers import count, plural, speed
from spotter.types import UserError

Row = dict[str, Any]

LIVE_EVERY_S: Final = 2.0
_FRESH_S: Final = 1.0
_LIVING: Final = ("running",)
_OF_ONE: Final = ("Stop", "Resume", "Fork")
_ONE: Final = "Select one run"


def _column(name: str, label: str, number: bool = False, **more: object) -> dict[str, object]:
    kind = {"classes": "number", "headerClasses": "number"} if number else {}
    return {"name": name, "label": label, "field": name, "align": "right" if number else "left",
            "sortable": True, **kind, **more}  # fmt: skip


# What people look for comes first: a narrow window shows the left end only.
_COLUMNS: Final = [
    _column("standing", "Status"),
    _column("id", "Run"),
    _column("address", "Environment"),
    _column("score", "Score", number=True),
    _column("spark", "Training score", sortable=False),
    _column("steps", "Env steps", number=True),
    _column("seed", "Seed", number=True),
    _column("alerts", "Alerts", number=True),
    _column("fps", "fps", number=True),
    _column("algo", "Algorithm"),
    _column("tags", "Tags"),
]

# Cells are templates over plain values: Vue escapes every one of them.
_CELLS: Final = {
    "standing": '<q-td :props="props"><span class="studio-words"><span '
    ':class="`studio-status studio-status-${props.row.status}`">{{ props.row.status }}</span>'
    '<span v-if="props.row.solved" class="studio-solved">solved</span></span></q-td>',
    "id": '<q-td :props="props"><a :href="`/run/${props.value}`" class="mono">{{ props.value }}</a>'
    '<div class="quiet studio-why" v-if="props.row.why" :title="props.row.why">'
    "{{ props.row.why }}</div></q-td>",
    "address": '<q-td :props="props" class="studio-address">'
    '<template v-for="(part, i) in props.value.split(\':\')"><wbr v-if="i">'
    "{{ i ? ':' : '' }}{{ part }}</template>"
    '<div class="quiet" v-if="props.row.env">{{ props.row.env }}</div>'
    '<div class="studio-why" v-if="props.row.group"><a class="quiet" '
    ':title="`compare the runs of group ${props.row.group}`" '
    ':href="`/compare?runs=${encodeURIComponent(props.row.group)}`">{{ props.row.group }}</a></div>'
    "</q-td>",
    "spark": '<q-td :props="props"><svg v-if="props.value" class="studio-spark" role="img" '
    'aria-label="training score" viewBox="0 0 100 24" preserveAspectRatio="none">'
    '<polyline :points="props.value" /></svg></q-td>',
    "score": '<q-td :props="props">{{ props.row.score_text }}<span v-if="props.row.score_mark" '
    'class="quiet studio-mark" title="its best evaluation: there is no test score">'
    "{{ props.row.score_mark }}</span></q-td>",
    "steps": '<q-td :props="props">{{ props.row.steps_text }}</q-td>',
    "fps": '<q-td :props="props"><span :title="props.row.fps_words">'
    "{{ props.row.fps_text }}</span></q-td>",
    "alerts": '<q-td :props="props"><span :title="props.row.alert_ids">{{ props.value || "" }}'
    "</span></q-td>",
    "tags": '<q-td :props="props"><span class="studio-tag" v-for="tag in props.value.split(\' \')" '
    'v-show="tag">{{ tag }}</span></q-td>',
}


class Board:
    """The rows of the table; made once for all pages that look at the same time."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._made = -math.inf
        self._infos: list[Info] = []
        self._rows: dict[str, Row] = {}
        self._problems: dict[str, str] = {}

    def look(self, words: str) -> tuple[list[Row], dict[str, str]]:
        """Runs that the query means, newest first; folders that cannot be read, and why."""
        with self._lock:
            if monotonic() - self._made > _FRESH_S:
                self._infos = self._context.infos()
                self._rows = {info["id"]: self._row(info) for info in self._infos}
                self._problems = self._context.problems()
                self._made = monotonic()
            found = query.matching(self._infos, words.split())
            return [self._rows[info["id"]] for info in found], self._problems

    def _row(self, info: Info) -> Row:
        glance = self._context.histories.glance(Run(self._context.runs / info["id"]))
        living = info["status"] in _LIVING
        stopping = living and self._context.dispatcher.is_stopping(info["id"], info["pid"])
        status = "stopping" if stopping else info["status"]
        text, mark = run_view.score_text(judged(info))
        fps = glance.fps if living else None
        return {
            "id": info["id"],
            "status": status,
            "solved": bool(info["solved"]),
            "standing": f"{status} solved" if info["solved"] else status,
            "why": info["why"],
            "address": info["address"],
            "env": "" if info["env"] in info["address"] else info["env"],
            "algo": info["algo"],
            "seed": info["seed"],
            "spark": polyline(glance.scores),
            "score": selectors.value(info) if text else None,
            "score_text": text,
            "score_mark": mark,
            "steps": info["env_steps"],
            "steps_text": count(info["env_steps"]),
            "fps": fps,
            "fps_text": "" if fps is None else f"{fps:,.0f}",
            "fps_words": speed(fps, glance.wall_fps),
            "alerts": len(glance.alerts),
            "alert_ids": ", ".join(glance.alerts),
            "tags": " ".join(info["tags"]),
            "group": info["group"],
        }


class _Page:
    """One open runs page."""

    def __init__(self, context: Context, board: Board) -> None:
        self._context = context
        self._board = board
        with ui.element("div").classes("studio-row"):
            theme.heading("Runs", 1)
            ui.space()
            ui.button("Start a run", on_click=lambda: starting.start(context)).props("unelevated")
        with ui.element("div").classes("studio-row"):
            self._filter = ui.input("Filter", placeholder="cartpole solved=true score>400")
            self._filter.props("outlined dense clearable debounce=200").classes("studio-grow")
            self._filter.on_value_change(self.refresh)
            self._actions()
        self._notice = ui.element("div").classes("w-full")
        self._table = ui.table(
            rows=[], columns=_COLUMNS, row_key="id", selection="multiple",
            pagination={"rowsPerPage": 25}, on_select=self._selected,
        ).classes("studio-table").props("flat")  # fmt: skip
        for name, template in _CELLS.items():
            self._table.add_slot(f"body-cell-{name}", template)
        self._table.visible = False
        self._empty = ui.element("div").classes("w-full")
        self._unreadable = ui.element("div").classes("w-full studio-unreadable")
        self._described: dict[str, str] = {}

    def _actions(self) -> None:
        self._buttons = {
            name: ui.button(name, on_click=action).props("outline")
            for name, action in {
                "Compare": self._compare,
                "Stop": lambda: self._with_one(starting.stop),
                "Resume": lambda: self._with_one(starting.resume),
                "Fork": lambda: self._with_one(starting.fork),
            }.items()
        }
        self._selected()

    async def refresh(self) -> None:
        """Bring the table up to date; one sentence where that cannot be done."""
        try:
            rows, problems = await asyncio.to_thread(self._board.look, self._filter.value or "")
        except UserError as error:
            theme.say(self._notice, str(error))
            return
        if self._table.is_deleted:  # the page was closed meanwhile
            return
        theme.say(self._notice, "")
        if rows != self._table.rows:
            there = {row["id"]: row for row in rows}
            self._table.selected = [
                there[row["id"]] for row in self._table.selected if row["id"] in there
            ]
            self._table.rows = rows
            self._selected()
        self._table.visible = bool(rows)
        self._show_empty(not rows)
        self._show_unreadable(problems)

    def _show_unreadable(self, problems: dict[str, str]) -> None:
        """Folders that should be runs: shown discreetly, and redrawn only when they change."""
        if problems == self._described:
            return
        self._described = dict(problems)
        self._unreadable.clear()
        if not problems:
            return
        many = f"{plural(len(problems), 'folder')} cannot be read"
        with self._unreadable, ui.expansion(many).props("dense").classes("w-full quiet"):
            for name, why in problems.items():
                ui.label(why if name in why else f"{name}: {why}").classes("studio-chart-about")

    def _show_empty(self, wanted: bool) -> None:
        with theme.cleared(self._empty):
            if wanted and self._filter.value:
                theme.empty("No run fits this filter", "Clear it to see all of them.")
            elif wanted:
                theme.empty(
                    f"There are no runs in {self._context.runs} yet",
                    "Start one here, or with: spotter train CartPole-v1:ppo",
                )

    def _selected(self) -> None:
        rows = self._table.selected if hasattr(self, "_table") else []
        reasons = {"Compare": "" if len(rows) > 1 else "Select two runs or more"}
        reasons |= self._against(rows[0]) if len(rows) == 1 else dict.fromkeys(_OF_ONE, _ONE)
        for name, reason in reasons.items():
            theme.allow(self._buttons[name], reason)
        self._buttons["Compare"].text = f"Compare {plural(len(rows), 'run')}" if rows else "Compare"

    def _against(self, row: Row) -> dict[str, str]:
        """Why this or that cannot be done with a run; empty where it can."""
        status = str(row["status"])
        kept = run_view.has_checkpoint(Run(self._context.runs / row["id"]))
        saved = "" if kept else run_view.no_checkpoint(status)
        return {
            "Stop": "" if status in _LIVING else "It is not being trained",
            "Resume": "It is being trained" if status in (*_LIVING, "stopping") else saved,
            "Fork": saved,
        }

    def _compare(self) -> None:
        ui.navigate.to(f"/compare?runs={','.join(row['id'] for row in self._table.selected)}")

    async def _with_one(self, action: starting.Action) -> None:
        try:
            run = self._context.run_of(str(self._table.selected[0]["id"]))
        except (UserError, IndexError) as error:
            theme.say(self._notice, str(error))
            return
        await action(self._context, run)
        await self.refresh()


def register(context: Context) -> None:
    """Declare `/`."""
    board = Board(context)

    @ui.page("/", response_timeout=PATIENCE_S)
    async def show() -> None:
        with theme.frame("Runs"):
            page = _Page(context, board)
            await page.refresh()
            ui.timer(LIVE_EVERY_S, page.refresh, immediate=False)
