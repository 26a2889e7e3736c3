"""`spotter runs` and `spotter show`: what was trained here, read from the run folders."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spotter.cli.words import count, number

if TYPE_CHECKING:
    from spotter.rundir.run import Run

_COLUMNS = ("run", "recipe", "status", "env steps", "score", "started")


def show_all(
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="Only runs whose id, recipe or status holds this."),
    ] = "",
) -> None:
    """List runs, newest first."""
    from spotter.rundir.run import all_runs, home

    infos = [run.info() for run in all_runs()]
    found = [info for info in infos if text.lower() in _searchable(info)]
    if not found:
        from spotter.types import UserError

        what = f"no run in {home()} matches '{text}'" if infos else f"there are no runs in {home()}"
        raise UserError(what)
    rows = [_row(info) for info in found]
    if not sys.stdout.isatty():
        for row in rows:
            typer.echo("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(*_COLUMNS, box=None, header_style="dim")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def show_one(
    selector: Annotated[
        str, typer.Argument(metavar="RUN", help="@last, @last:EnvId, an id or how it begins.")
    ],
) -> None:
    """Show one run: who it is, how it went, its evaluations and its last numbers."""
    from spotter.rundir.run import select

    run = select(selector)
    for key, value in run.info().items():
        typer.echo(f"{key:<12} {_plain(value)}")
    _echo_evaluations(run)
    last = None
    for row in run.metrics():
        last = row
    for key, value in (last or {}).items():
        typer.echo(f"{key:<28} {value:.6g}")


def _echo_evaluations(run: "Run") -> None:
    for event in run.events():
        if event["event"] == "evaluation":
            typer.echo(
                f"{event['seeds']:<12} {event['score']:.2f} over {len(event['scores'])} episodes "
                f"at {count(event['env_steps'])} env steps"
            )


def _searchable(info: dict[str, Any]) -> str:
    return f"{info['id']} {info['address']} {info['status']}".lower()


def _row(info: dict[str, Any]) -> tuple[str, ...]:
    score = "" if info["score"] is None else number(info["score"])
    mark = " solved" if info["solved"] else ""
    return (
        info["id"],
        info["address"],
        info["status"],
        count(info["env_steps"]),
        score + mark,
        info["created"][:16].replace("T", " "),
    )


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {inner}" for key, inner in value.items())
    if isinstance(value, list):
        return " ".join(str(inner) for inner in value)
    return str(value)
