"""The tabs of a run page that are read when they are opened: alerts, films, checkpoints, settings.

Each is a `Panel`: what to read, in a thread, and how to draw it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from spotter.pages.report.reproduce import Change
from spotter.rundir import checkpoints
from spotter.rundir.alerts import Alert
from spotter.rundir.checkpoints import Checkpoint
from spotter.rundir.run import Run
from spotter.rundir.view import RunView
from spotter.studio import run_view, theme
from spotter.studio.context import Context
from spotter.text.numbers import count, often


@dataclass(frozen=True)
class Panel:
    """A tab: what to read, in a thread, and how to draw it."""

    read: Callable[[Context, Run], Any]
    draw: Callable[[Run, Any], None]


def _read_alerts(context: Context, run: Run) -> Sequence[Alert]:
    return RunView(run, context.histories.of(run)).alerts


def _draw_alerts(run: Run, found: Sequence[Alert]) -> None:
    if not found:
        theme.empty("No alerts", "Nothing looked wrong in this run.")
    for alert in found:
        with ui.element("div").classes(f"studio-alert studio-alert-{plain(alert.level)}"):
            theme.heading(f"{alert.id} · {alert.level}", 3)
            ui.label(f"{alert.saw}; {', '.join(_often(alert))}")
            ui.label(alert.advice).classes("quiet")


def _often(alert: Alert) -> Iterator[str]:
    yield often(alert.updates, alert.share)
    if alert.first is not None:
        yield f"first at {count(alert.first)} env steps"


def _draw_films(run: Run, found: Sequence[run_view.Film]) -> None:
    if not found:
        theme.empty("No videos", "Which episodes are filmed is set by video.when.")
    with ui.element("div").classes("studio-grid"):
        for film in found:
            with ui.element("figure").classes("studio-card studio-figure"):
                source = f"/files/{quote(run.id, safe='')}/videos/{quote(film.name, safe='')}"
                ui.element("video").props(f'src="{source}" controls preload="metadata"').classes(
                    "studio-video"
                )
                ui.label(film.caption).classes("studio-chart-about")


def _draw_checkpoints(run: Run, found: Sequence[Checkpoint]) -> None:
    if not found:
        theme.empty("No checkpoints yet")
        return
    heads = ("checkpoint", "env steps", "", "evaluation", "test", "")
    rows = [_checkpoint_row(run, each) for each in reversed(found)]
    theme.table(heads, rows, ("mono", "mono"))


def _checkpoint_row(run: Run, each: Checkpoint) -> list[theme.Cell]:
    kept = f"kept: {each.pinned}" if each.pinned else ""
    step = quote(f"step={each.env_steps}", safe="")
    address = f"/inspect?run={quote(run.id, safe='')}&checkpoint={step}"
    return [
        each.name,
        count(each.env_steps),
        ", ".join(filter(None, (*each.roles, kept))),
        *(run_view.certificate(each.certificates.get(seeds)) for seeds in ("eval", "test")),
        partial(ui.link, "inspect", address),
    ]


Settled = tuple[list[run_view.Line], tuple[Change, ...] | None]


def _read_config(context: Context, run: Run) -> Settled:
    return run_view.settings(run), run_view.parent_changes(context, run)


def _draw_config(run: Run, found: Settled) -> None:
    lines, changes = found
    if changes is not None:
        with theme.card("Changed against the run it was forked from"):
            if not changes:
                ui.label("Nothing.").classes("quiet")
            else:
                theme.table(("setting", "before", "after"), changes, ["mono"] * 3)
    with theme.card("Settings"):
        theme.table(("setting", "value", "origin"), lines, ("mono", "mono", "quiet"))


PANELS: Final = {
    "Alerts": Panel(_read_alerts, _draw_alerts),
    "Videos": Panel(lambda _, run: run_view.films(run), _draw_films),
    "Checkpoints": Panel(lambda _, run: checkpoints.read(run.folder), _draw_checkpoints),
    "Config": Panel(_read_config, _draw_config),
}


def plain(text: str) -> str:
    """Safe inside an attribute or a class name."""
    return "".join(letter if letter.isalnum() or letter in "-_/ ." else "-" for letter in text)
