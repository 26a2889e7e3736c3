"""`spotter report`: a run as one page to mail, and as Markdown."""

from typing import Annotated

import typer

from spotter.cli.echo import echo


def run(
    selector: Annotated[
        str, typer.Argument(metavar="RUN", help="@last, @last:EnvId, an id or how it begins.")
    ],
) -> None:
    """Write report.html, which needs no other file, and report.md into the run's folder."""
    from spotter.rundir.report import write_report
    from spotter.rundir.run import select

    for path in write_report(select(selector)):
        echo(path)
