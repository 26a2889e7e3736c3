"""`spotter bench`: where the time goes, and what makes it faster here."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from spotter.cli import table
from spotter.cli.train import Algo, OptionalAddress, Overrides
from spotter.text.echo import echo, echo_json, echo_progress
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.bench.run import Findings
    from spotter.config import Resolved

DEFAULT: Final = "CartPole-v1:ppo"
EXAMPLES: Final = """\
  spotter bench                                    CartPole-v1:ppo on this machine
  spotter bench LunarLander-v3:ppo --seconds 120   longer, and so more certain
  spotter bench CartPole-v1:ppo env.backend=sync   starting from another setting
  spotter bench CartPole-v1:ppo --apply            write what is faster and learns the same
  spotter bench CartPole-v1:ppo --json > bench.json
"""
_LEAST_S, _MOST_S = 1, 86_400


def run(
    address: OptionalAddress = None,
    overrides: Overrides = None,
    algo: Algo = None,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", help="For everything together, roughly.")
    ] = 60,
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Write what is faster and learns the same to the recipe."),
    ] = False,
    apply_learning: Annotated[
        bool,
        typer.Option("--apply-learning", help="Also what is faster still but changes learning."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of tables.")] = False,
) -> None:
    """Measure a recipe: where the time goes, its limits, and what makes it faster here.

    Changes are tried one at a time, in turns with the recipe as it is. Nothing is written
    without --apply.
    """
    if not (_LEAST_S <= seconds <= _MOST_S):
        got = f"{seconds:g}" if math.isfinite(seconds) else str(seconds)
        raise UserError(f"--seconds should be between {_LEAST_S} and {_MOST_S}, got {got}")
    settings = list(overrides or [])
    if address is not None and "=" in address:
        settings, address = [address, *settings], None

    from spotter.config import resolve

    resolved = resolve(address or DEFAULT, settings, algo)
    writes = apply or apply_learning
    if writes:
        from spotter.bench.apply import destination

        destination(resolved)

    from spotter.bench.run import bench

    findings = bench(resolved.config, seconds, echo_progress)
    echo_progress("")
    chosen = _chosen(findings, apply_learning) if writes else None
    if as_json:
        _show_json(resolved, findings, chosen)
    else:
        _show(resolved, findings, writes, chosen)


def _chosen(findings: "Findings", learning_too: bool) -> dict[str, Any] | None:
    best = (findings.learning if learning_too else None) or findings.free
    return dict(best.change.settings) if best else None


def _show_json(
    resolved: "Resolved", findings: "Findings", chosen: Mapping[str, object] | None
) -> None:
    from spotter.bench.apply import plan
    from spotter.bench.report import as_data

    data = as_data(resolved.address, findings)
    data["written"] = str(plan(resolved, chosen).write().path) if chosen else None
    echo_json(data)


def _show(
    resolved: "Resolved", findings: "Findings", writes: bool, chosen: Mapping[str, object] | None
) -> None:
    from spotter.bench import report

    echo(report.headline(resolved.address, findings))
    for columns, rows in (
        (report.PROFILE_COLUMNS, report.profile_rows(findings)),
        (report.SPEED_COLUMNS, report.speed_rows(findings)),
        (report.TRIAL_COLUMNS, report.trial_rows(findings)),
    ):
        echo()
        table.show(columns, rows, wraps=columns[-1:], header=True)
    echo()
    for sentence in report.advice(findings):
        echo(sentence)
    if chosen:
        _write(resolved, chosen)
    elif writes:
        echo("Nothing to write.")
    else:
        _offer(findings)


def _offer(findings: "Findings") -> None:
    if findings.free:
        echo("--apply writes the change that learns the same to the recipe.")
    if findings.learning:
        echo("--apply-learning writes the faster one that changes learning.")


def _write(resolved: "Resolved", settings: Mapping[str, object]) -> None:
    from spotter.bench.apply import plan

    written = plan(resolved, settings).write()
    note = f" ({written.note})" if written.note else ""
    echo(f"Written to {written.path}{note}; train it: spotter train {written.address}")
