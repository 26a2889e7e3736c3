"""`spotter report`: a run as one page to mail, and as Markdown."""

from spotter.cli.runs import Selector
from spotter.text.echo import echo


def run(
    selector: Selector,
) -> None:
    """Write report.html, which needs no other file, and report.md into the run's folder."""
    from spotter.pages.report import write_report
    from spotter.rundir.run import select

    for path in write_report(select(selector)):
        echo(path)
