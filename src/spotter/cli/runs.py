"""`spotter runs` and `spotter show`: what was trained here, read from the run folders."""

import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from spotter.cli import table
from spotter.cli.words import count, duration, number, plural

if TYPE_CHECKING:
    from spotter.rundir.run import Run

SELECTOR: Final = "@last, @last:EnvId, @best-of:EnvId, an id or how it begins, a tag, a folder."
EXAMPLES: Final = """\b
Examples:
  spotter runs                                  every run, newest first
  spotter runs cartpole solved=true             words and columns; all must fit
  spotter runs env=CartPole-v1 'score>400' tag=baseline
  spotter runs --last 5 --json                  for a program or a language model
"""
Selector = Annotated[str, typer.Argument(metavar="RUN", help=SELECTOR)]
Selectors = Annotated[list[str], typer.Argument(metavar="RUN", help=SELECTOR)]

_COLUMNS: Final = ("run", "recipe", "status", "env steps", "score", "tags")
_GIVES: Final = ("tags", "status", "recipe…", "recipe", "env steps")
_LABEL: Final = 24


def show_all(
    query: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUERY", help="Text, or column=value, column>number; quote < and >."
        ),
    ] = None,
    last: Annotated[
        str | None, typer.Option("--last", metavar="N", help="Only the newest N of them.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Everything known about each, as a JSON list.")
    ] = False,
) -> None:
    """List runs, newest first."""
    from spotter.rundir import query as queries
    from spotter.rundir.registry import listing

    there = listing()
    found = queries.matching(there.infos, query or [])
    found = found if last is None else found[: _whole(last)]
    if as_json:
        _echo_json(found)
        return
    for name in there.problems:
        typer.echo(f"{name} cannot be read; `spotter show {name}` says why", err=True)
    if not found:
        raise _nothing(query or [], bool(there.infos))
    rows = [_row(info) for info in found]
    table.show(_COLUMNS, rows, wraps=("tags",), gives=_GIVES)


def _whole(text: str) -> int:
    from spotter.types import UserError

    if not text.isdigit() or not int(text):
        raise UserError(f"--last should be a whole number above 0, got '{text}'")
    return int(text)


def _nothing(words: list[str], some: bool) -> Exception:
    from spotter.rundir.run import home
    from spotter.types import UserError

    if some:
        return UserError(f"no run in {home()} matches '{' '.join(words)}'")
    return UserError(f"there are no runs in {home()}; make one, e.g. spotter train CartPole-v1:ppo")


def _echo_json(infos: list[dict[str, Any]]) -> None:
    import json

    from spotter.rundir.files import encode
    from spotter.rundir.identity import seconds
    from spotter.rundir.run import home

    rows = [info | {"seconds": seconds(info), "folder": str(home() / info["id"])} for info in infos]
    typer.echo(json.dumps(encode(rows), indent=2, ensure_ascii=False))


def _row(info: dict[str, Any]) -> tuple[str, ...]:
    mark = " solved" if info["solved"] else ""
    return (
        info["id"],
        info["address"],
        info["status"],
        count(info["env_steps"]),
        _score(info) + mark,
        " ".join(info["tags"]),
    )


def _score(info: dict[str, Any]) -> str:
    """The test score; of a run without one, the best evaluation, and that it is one."""
    if info["score"] is not None:
        return number(info["score"])
    return "" if info["best"] is None else f"{number(info['best'])} eval"


def show_one(selector: Selector) -> None:
    """Show one run: who it is, how it went, its checkpoints, evaluations and last numbers."""
    from spotter.rundir.run import select

    run = select(selector)
    info = run.info()
    _echo_identity(info)
    _echo_relatives(run, info)
    _echo_checkpoints(run)
    _echo_evaluations(run)
    _echo_alerts(run)
    _echo_notes(run)
    _echo_numbers(run)


def _line(label: str, text: Any) -> None:
    typer.echo(f"{label:<{_LABEL}} {table.plain(str(text))}")


def _echo_identity(info: dict[str, Any]) -> None:
    from spotter.rundir.identity import REACHED, seconds

    for key in ("id", "address", "env", "algo", "seed", "status", "reason"):
        _line(key, info[key] if info[key] is not None else "-")
    for key in ("protocol", "fingerprint"):
        if info[key]:
            _line(key, info[key])
    judged = {True: " (solved)", False: " (not solved)", None: ""}[info["solved"]]
    _line("score", (_score(info) or "-") + judged)
    _line("best", "-" if info["best"] is None else number(info["best"]))
    _line("env_steps", count(info["env_steps"]))
    for key in REACHED:
        if info[key] is not None:
            _line(key, count(info[key]))
    _line("time", duration(seconds(info)))
    for key in ("created", "heartbeat", "ended", "by", "host", "pid", "why"):
        if info[key] not in (None, ""):
            _line(key, info[key])
    _line("command", " ".join(map(str, info["command"])))
    _line("versions", ", ".join(f"{name} {version}" for name, version in info["versions"].items()))
    if info["tags"]:
        _line("tags", " ".join(info["tags"]))
    grade = info["resume_grade"]
    if grade:
        _line("resume grade", f"{grade.get('grade')}: {grade.get('why')}")


def _echo_relatives(run: "Run", info: dict[str, Any]) -> None:
    from spotter.rundir.registry import listing
    from spotter.rundir.story import children

    parent = info["parent"]
    if parent:
        _line(
            "parent",
            f"{parent['run']} {parent.get('checkpoint', '')} ({parent.get('kind', 'fork')})",
        )
    forks = children(run.id, listing().infos)
    if forks:
        _line("children", " ".join(forks))
    for resume in info["resumes"]:
        _line("resumed", _resumed(resume))


def _resumed(resume: dict[str, Any]) -> str:
    steps = resume.get("env_steps")
    changes = resume.get("changes") or {}
    told = [
        f"at {count(steps) if isinstance(steps, int) else steps} env steps",
        resume["time"][:16].replace("T", " "),
        str(resume.get("by", "")),
        *(f"{name}: {_pair(pair)}" for name, pair in changes.items()),
        str(resume.get("why", "")),
    ]
    return ", ".join(filter(None, told))


def _pair(pair: Any) -> str:
    return " → ".join(map(str, pair)) if isinstance(pair, list) else str(pair)


def _echo_checkpoints(run: "Run") -> None:
    from spotter.rundir.story import checkpoints

    for checkpoint in checkpoints(run):
        scores = [f"{kind} {number(score)}" for kind, score in checkpoint.scores.items()]
        _line("checkpoint", " ".join([checkpoint.name, *checkpoint.roles, *scores]))


def _echo_evaluations(run: "Run") -> None:
    for found in run.evaluations():
        _line(
            found["seeds"],
            f"{number(found['score'])} over {len(found['scores'])} episodes "
            f"at {count(found['env_steps'])} env steps",
        )


def _echo_alerts(run: "Run") -> None:
    from spotter.rundir.story import alerts

    for alert in alerts(run):
        event = alert.event
        held = plural(alert.updates, "update")
        _line("alert", f"{alert.id} ({held}): {event.get('saw', '')}; {event.get('advice', '')}")


def _echo_notes(run: "Run") -> None:
    """Those of people and agents; what training itself remarked is in the log."""
    for event in run.events():
        if event.get("event") == "note" and event.get("by"):
            _line("note", f"{event.get('text', '')} ({event['by']})")


def _echo_numbers(run: "Run") -> None:
    from spotter.rundir.story import last_row

    for key, value in last_row(run).items():
        if isinstance(value, int | float):
            typer.echo(f"{key:<28} {value:.6g}")


def is_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()
