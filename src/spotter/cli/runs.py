"""`spotter runs` and `spotter show`: what was trained here, read from the run folders."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from spotter.cli import completion, table
from spotter.cli.options import whole
from spotter.text.echo import echo, echo_json
from spotter.text.numbers import count, duration, interval, number, plural, speed
from spotter.types import NoMatchError

if TYPE_CHECKING:
    from spotter.rundir.judged import Judged
    from spotter.rundir.view import RunView

SELECTOR: Final = "@last, @last:EnvId, @best-of:EnvId, an id or how it begins, a tag, a folder."
EXAMPLES: Final = """\
  spotter runs                                  every run, newest first
  spotter runs cartpole solved=true             words and columns; all must fit
  spotter runs env=CartPole-v1 'score>400' tag=baseline
  spotter runs algo.lr=1e-4 'algo.gamma>0.98'   by setting
  spotter runs group=CartPole-v1-ppo-3f2a       the runs of a group
  spotter runs --last 5 --json                  for a program or a language model
"""
_RUN: Final = typer.Argument(metavar="RUN", help=SELECTOR, autocompletion=completion.runs)
Selector = Annotated[str, _RUN]
Selectors = Annotated[list[str], _RUN]
RunsAndGroups = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN",
        help=f"{SELECTOR.removesuffix('.')}, or a group by its name.",
        autocompletion=completion.runs_and_groups,
    ),
]

_COLUMNS: Final = ("run", "recipe", "status", "env steps", "score", "tags")
_GIVES: Final = ("tags", "status", "recipe…", "recipe", "env steps")
_LABEL: Final = 24


def show_all(
    query: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUERY",
            help="Text, column=value, setting=value, column>number; quote < and >.",
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
    found = found if last is None else found[: whole("--last", last)]
    if as_json:
        _echo_json(found)
        return
    for name in there.problems:
        echo(f"{name} cannot be read; `spotter show {name}` says why", err=True)
    if not found:
        raise _nothing(query or [], bool(there.infos))
    rows = [_row(info) for info in found]
    if any(info["group"] for info in found):
        grouped = [(*row, info["group"]) for row, info in zip(rows, found, strict=True)]
        first = "group" if any(info["tags"] for info in found) else "tags"
        gives = dict.fromkeys((first, "group", *_GIVES))
        table.show((*_COLUMNS, "group"), grouped, wraps=("tags",), gives=tuple(gives))
    else:
        table.show(_COLUMNS, rows, wraps=("tags",), gives=_GIVES)


def _nothing(words: list[str], some: bool) -> Exception:
    from spotter.rundir.run import home

    if some:
        return NoMatchError(f"no run in {home()} matches '{' '.join(words)}'")
    return NoMatchError(
        f"there are no runs in {home()}; make one, e.g. spotter train CartPole-v1:ppo"
    )


def _echo_json(infos: list[dict[str, Any]]) -> None:

    from spotter.rundir.files import encode
    from spotter.rundir.identity import seconds
    from spotter.rundir.run import home

    rows = [info | {"seconds": seconds(info), "folder": str(home() / info["id"])} for info in infos]
    echo_json(encode(rows))


def _row(info: dict[str, Any]) -> tuple[str, ...]:
    mark = " solved" if info["solved"] else ""
    return (
        info["id"],
        info["address"],
        info["status"],
        count(info["env_steps"]),
        _listed(info) + mark,
        " ".join(info["tags"]),
    )


def _listed(info: Mapping[str, object]) -> str:
    """The test score; of a run without one, the best evaluation, and that it is one."""
    from spotter.rundir.judged import judged

    found = judged(info)
    if found is None:
        return ""
    half = "" if found.half is None else f" ± {number(found.half)}"
    return f"{number(found.mean)}{half}{'' if found.seeds == 'test' else ' eval'}"


def show_one(selector: Selector) -> None:
    """Show one run: who it is, how it went, its checkpoints, evaluations and last numbers."""
    from spotter.rundir.run import select
    from spotter.rundir.view import RunView

    view = RunView(select(selector))
    _echo_identity(view)
    _echo_origin(view)
    _echo_relatives(view)
    _echo_checkpoints(view)
    _echo_evaluations(view)
    _echo_alerts(view)
    _echo_notes(view)
    _echo_numbers(view)
    for problem in view.problems:
        _line("cannot be read", problem)


def _line(label: str, text: object) -> None:
    echo(f"{label:<{_LABEL}} {table.plain(str(text))}")


def _echo_identity(view: "RunView") -> None:
    from spotter.rundir.identity import REACHED

    info = view.info
    for key in ("id", "address", "env", "algo", "seed", "status"):
        _line(key, info[key] if info[key] is not None else "-")
    _line("phase", view.phase or "-")
    _line("reason", info["reason"] or "-")
    for key in ("protocol", "fingerprint"):
        if info[key]:
            _line(key, info[key])
    judged = {True: " (solved)", False: " (not solved)", None: ""}[view.solved]
    _line("score", (_score(view.score) or "-") + judged)
    _line("best", _score(view.best).removesuffix(" eval") or "-")
    if view.last_score is not None:
        _line("last weights", number(view.last_score))
    _line("threshold", "-" if view.threshold is None else number(view.threshold))
    _line("env_steps", count(view.env_steps))
    for key in REACHED:
        if info[key] is not None:
            _line(key, count(info[key]))
    _line("time", duration(view.elapsed_s))
    if view.train_s is not None:
        _line("collecting and learning", duration(view.train_s))
    _line("speed", speed(view.fps, view.wall_fps) or "-")
    for key in ("created", "heartbeat", "ended", "by", "host", "pid", "why"):
        if info[key] not in (None, ""):
            _line(key, info[key])
    _line("command", " ".join(map(str, info["command"])))
    _line("versions", ", ".join(f"{name} {version}" for name, version in info["versions"].items()))
    if info["group"]:
        _line("group", info["group"])
    if info["tags"]:
        _line("tags", " ".join(info["tags"]))
    grade = info["resume_grade"]
    if grade:
        _line("resume grade", f"{grade.get('grade')}: {grade.get('why')}")


def _score(found: "Judged | None") -> str:
    """With its interval; of a run without a test, the best evaluation, and that it is one."""
    if found is None:
        return ""
    episodes = f" over {plural(found.episodes, 'episode')}" if found.episodes else ""
    return f"{interval(found.mean, found.half)}{episodes}{'' if found.seeds == 'test' else ' eval'}"


def _echo_origin(view: "RunView") -> None:
    from spotter.rundir.trust import origin

    if text := origin(view.info, view.config):
        _line("origin", text)


def _echo_relatives(view: "RunView") -> None:
    from spotter.rundir.lineage import children
    from spotter.rundir.registry import listing

    parent = view.parent
    if parent:
        _line(
            "parent",
            f"{parent['run']} {parent.get('checkpoint', '')} ({parent.get('kind', 'fork')})",
        )
    forks = children(view.id, listing().infos)
    if forks:
        _line("children", " ".join(forks))
    for resume in view.info["resumes"]:
        _line("resumed", _resumed(resume))


def _resumed(resume: dict[str, Any]) -> str:
    steps = resume.get("env_steps")
    changes = resume.get("changes") or {}
    reported = [
        f"at {count(steps) if isinstance(steps, int) else steps} env steps",
        resume["time"][:16].replace("T", " "),
        str(resume.get("by", "")),
        *(f"{name}: {_pair(pair)}" for name, pair in changes.items()),
        str(resume.get("why", "")),
    ]
    return ", ".join(filter(None, reported))


def _pair(pair: object) -> str:
    return " → ".join(map(str, pair)) if isinstance(pair, list) else str(pair)


def _echo_checkpoints(view: "RunView") -> None:
    for checkpoint in view.checkpoints:
        scores = [f"{kind} {number(score)}" for kind, score in checkpoint.scores.items()]
        _line("checkpoint", " ".join([checkpoint.name, *checkpoint.roles, *scores]))


def _echo_evaluations(view: "RunView") -> None:
    for found in view.evaluations:
        mean = interval(found.mean, found.interval.half)
        _line(
            found.seeds,
            f"{mean} over {plural(found.episodes, 'episode')} "
            f"at {count(found.env_steps)} env steps",
        )


def _echo_alerts(view: "RunView") -> None:
    for alert in view.alerts:
        first = "" if alert.first is None else f", first at {count(alert.first)} env steps"
        held = f"{plural(alert.updates, 'update')}{first}"
        _line("alert", f"{alert.id} ({held}): {'; '.join(filter(None, (alert.saw, alert.advice)))}")


def _echo_notes(view: "RunView") -> None:
    """Those of people and agents; what training itself remarked is in the log."""
    for event in view.events:
        if event.get("event") == "note" and event.get("by"):
            _line("note", f"{event.get('text', '')} ({event['by']})")


def _echo_numbers(view: "RunView") -> None:
    for key, value in view.last_row.items():
        if isinstance(value, int | float):
            echo(f"{table.plain(key):<28} {value:.6g}")


def is_terminal() -> bool:
    """Whether questions can be answered: input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()
