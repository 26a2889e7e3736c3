"""`spotter blackbox`: reproduce the failure of an environment."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from spotter.cli.trust import Trust, trusting
from spotter.text.echo import echo
from spotter.types import UserError

NOT_REPRODUCED = 1


def run(
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="A folder in runs/<id>/blackbox/.")
    ],
    timeout: Annotated[
        str,
        typer.Option("--timeout", metavar="SECONDS", help="A step that takes longer hangs."),
    ] = "30",
    trust: Trust = False,
) -> None:
    """Replay a failure of an environment; exit 1 if it does not happen again."""
    from spotter.training import blackbox

    with trusting(trust):
        verdict = blackbox.replay(Path(folder), _seconds(timeout), echo)
    echo(verdict.sentence)
    if not verdict.reproduced:
        sys.exit(NOT_REPRODUCED)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UserError(f"--timeout should be a number of seconds above 0, got '{text}'")
    return seconds
