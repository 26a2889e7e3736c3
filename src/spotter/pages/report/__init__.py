"""A run as a page to mail to a colleague: `report.html`, self-contained, and the same in Markdown.

Both are made from the files of the run folder alone: no torch, no other machine, no network.
"""

from pathlib import Path

from spotter.pages.report.facts import gather
from spotter.pages.report.markdown import markdown_page
from spotter.pages.report.page import html_page
from spotter.rundir.files import write_atomic
from spotter.rundir.run import Run
from spotter.text.numbers import printable

__all__ = ["write_report"]


def write_report(run: Run) -> tuple[Path, Path]:
    """Write both into the run folder, over older ones; the HTML page first."""
    facts = gather(run)
    html, text = run.folder / "report.html", run.folder / "report.md"
    # a terminal may show them, and what they say may come from a stranger's file
    write_atomic(html, printable(html_page(facts)))
    write_atomic(text, printable(markdown_page(facts)))
    return html, text
