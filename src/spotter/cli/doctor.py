"""`spotter doctor`: does everything here work, what is wrong with a run, and what to do."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spotter import plugins
from spotter.cli import table
from spotter.cli.train import Overrides
from spotter.cli.trust import Trust, trusting
from spotter.text.echo import echo, echo_json, echo_progress
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.diagnose.doctor.environments import Finding
    from spotter.rundir.run import Run

EXAMPLES: Final = """\
  spotter doctor                       one environment of every family, and the machine
  spotter doctor @last                 the last run: what is wrong, what to try first
  spotter doctor 20261115-1045 --json  any run, for programs
  spotter doctor @last --no-environment  only what the run wrote, at once
  spotter doctor atari                 one family
  spotter doctor ALE/Breakout-v5       one environment, as training would build it
  spotter doctor my_package:MyEnv-v0   your own: does it keep the contract?
  spotter doctor --json > doctor.json  all of it, to attach to a report

\b
What the columns say:
  step      time of one decision of one env, wrappers included
  seeds     yes: the same seed and actions give the same game
  envs      differ: other seeds give other games; alike: only the sampling does

A family that is not installed is no fault (exit code 0); one that is installed and broken is
(exit code 1), and so is an environment you name that does not work, for whatever reason (2).
A run: exit code 0 if it is healthy, 1 if a critical problem or a warning was found.
"""
_COLUMNS: Final = (
    *("family", "state", "environment", "step", "observation", "actions"),
    *("rewards", "protocol", "seeds", "envs", "advice"),
)
_WIDE: Final = ("observation", "actions", "protocol")
_GIVES: Final = ("protocol", "rewards", "actions", "observation", "envs", "seeds")
BROKEN, NAMED_FAILS = 1, 2


def run(
    address: Annotated[
        str | None,
        typer.Argument(
            metavar="ENV|RUN", help="An environment, a recipe, a family, or a run; all if none."
        ),
    ] = None,
    overrides: Overrides = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
    environment: Annotated[
        bool,
        typer.Option(
            "--environment/--no-environment", help="Of a run: play its environment as well."
        ),
    ] = True,
    trust: Trust = False,
) -> None:
    """Say what is wrong with a run, or try one environment of each family; and how to fix it."""
    if address is not None:
        found = _run_of(address, overrides or [])
        if found is not None:
            with trusting(trust):
                return _diagnose(found, as_json, environment, trust)
    if not environment or trust:
        option = "--trust" if environment else "--no-environment"
        raise UserError(f"{option} is for runs, such as @last; leave it out here")
    return _examine(address, overrides or [], as_json)


def _run_of(address: str, overrides: list[str]) -> "Run | None":
    """The run that is meant, if a run is: `@…` always is, other words only where there is one.

    What names an environment is never taken for a tag.
    """
    from spotter.config import recipes
    from spotter.rundir.run import select

    if address.startswith("@"):
        if overrides:
            raise UserError(f"a run is looked at as it is; leave out {overrides[0]}")
        return select(address)
    is_known = address in plugins.names("envs") or address.partition(":")[0] in recipes.files()
    if overrides or is_known:
        return None
    try:
        return select(address)
    except UserError as error:
        if address[:4].isdigit():  # no environment begins like an id of a run
            raise
        if f"'{address}' fits" in str(error):
            raise
        return None


def _diagnose(found: "Run", as_json: bool, environment: bool, trust: bool) -> None:
    from spotter.diagnose.doctor.run import as_data, as_text, diagnose

    if environment:
        found.check_trust()
    trusted = trust or not found.info()["foreign"]
    echo_progress("looking at the run and its environment" if environment else "")
    diagnosis = diagnose(found, environment=environment, trusted=trusted)
    echo_progress("")
    if as_json:
        echo_json(as_data(diagnosis))
    else:
        echo("\n".join(table.plain(line) for line in as_text(diagnosis).splitlines()))
    if not diagnosis.healthy:
        raise typer.Exit(BROKEN)


def _examine(address: str | None, overrides: list[str], as_json: bool) -> None:
    from spotter.diagnose.doctor import environments

    findings = []
    for finding in _findings(address, overrides):
        findings.append(finding)
        echo_progress(f"{len(findings)} looked at, {finding.family} {finding.state}")
    machine = environments.machine()
    echo_progress("")
    if as_json:
        data = {"machine": machine, "families": [asdict(finding) for finding in findings]}
        echo_json(data)
    else:
        echo(" · ".join(f"{name} {words}" for name, words in machine.items()))
        echo()
        _show(findings)
    code = exit_code(findings, is_named=address is not None)
    if code:
        raise typer.Exit(code)


def _findings(address: str | None, overrides: list[str]) -> Iterable["Finding"]:
    from spotter.diagnose.doctor import environments

    if address is None:
        return environments.families()
    if address in plugins.names("envs") and not overrides:
        return [environments.family(address)]
    from spotter.config import resolve

    return [environments.environment(resolve(address, overrides).config.env)]


def _show(findings: list["Finding"]) -> None:
    """One line per family; on a terminal, advice comes below, where there is room for it."""
    rows = [[*_cells(finding), _advice(finding)] for finding in findings]
    if not table.width():
        table.show(_COLUMNS, rows, header=True)
        return
    table.show(_COLUMNS[:-1], [row[:-1] for row in rows], wraps=_WIDE, gives=_GIVES)
    reported = [f"{row[0]}: {row[-1]}" for row in rows if row[-1]]
    if reported:
        echo()
    for sentence in reported:
        echo(table.plain(sentence))


def exit_code(findings: Iterable["Finding"], is_named: bool) -> int:
    """0 if everything that should work does."""
    states = {finding.state for finding in findings}
    if is_named:
        return 0 if states == {"ok"} else NAMED_FAILS
    return BROKEN if "broken" in states else 0


def _cells(finding: "Finding") -> list[str]:
    return [
        finding.family,
        finding.state,
        finding.env,
        "" if finding.step_s is None else _duration(finding.step_s),
        finding.observation,
        finding.action,
        finding.rewards,
        finding.protocol,
        _word(finding.seeds, "yes", "no"),
        _word(finding.copies_differ, "differ", "alike"),
    ]


def _advice(finding: "Finding") -> str:
    """What is wrong and what to do, in one; many a sentence has the remedy in it already."""
    if finding.fix and finding.fix in finding.problem:
        return finding.problem
    return ": ".join(filter(None, (finding.problem, finding.fix)))


def _word(value: bool | None, yes: str, no: str) -> str:
    return "" if value is None else yes if value else no


def _duration(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"
