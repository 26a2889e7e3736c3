"""`spotter digest`: a run on one page, for a model and for you."""

from typing import Annotated, Final

import typer

from spotter.cli.runs import Selector
from spotter.text.echo import echo

EXAMPLES: Final = """\
  spotter digest                         the last run, in at most 4,000 tokens
  spotter digest @best-of:CartPole-v1 --tokens 1500
  spotter digest @last --runs 20         more of its neighbours
  spotter digest > run.md                to paste into a chat

The page names no file, machine or account, and says what it left out.
"""


def run(
    selector: Selector = "@last",
    tokens: Annotated[
        int, typer.Option("--tokens", metavar="N", help="How long it may be, for a model.")
    ] = 4000,
    runs: Annotated[
        int,
        typer.Option("--runs", min=0, metavar="N", help="Other runs of the environment to list."),
    ] = 5,
) -> None:
    """Print a Markdown page: settings, curves as text, alerts, what the doctor found."""
    from spotter.pages.digest.page import digest
    from spotter.rundir.run import select

    echo(digest(select(selector), tokens=tokens, others=runs), nl=False)
