"""`spotter review`: what a language model thinks of a run."""

from typing import Annotated, Final

import typer

from spotter.cli.runs import Selector, is_terminal
from spotter.text.echo import echo
from spotter.types import UserError

EXAMPLES: Final = """\
  spotter review --show                  what would be sent, word for word; sends nothing
  spotter review                         asks you, then the model; the answer stays with the run
  spotter review @last --frames 8        with frames of the newest episode captured
  spotter review @last --question "Is the reward shaping worth it?" --yes

\b
Off until you say where the model is:
  export SPOTTER_LLM_URL=http://localhost:11434/v1     any OpenAI-compatible server
  export SPOTTER_LLM_MODEL=qwen3                       its name there
  export SPOTTER_LLM_KEY=...                           only if the server wants one
"""


def run(
    selector: Selector = "@last",
    frames: Annotated[
        int, typer.Option("--frames", metavar="N", help="Frames of its newest episode to send.")
    ] = 0,
    question: Annotated[
        str, typer.Option("--question", metavar="TEXT", help="Instead of the usual one.")
    ] = "",
    show: Annotated[
        bool, typer.Option("--show", help="Print what would be sent; send nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Send without asking.")] = False,
) -> None:
    """Send the digest of a run to the model you set up, and keep its answer with the run."""
    from spotter import review
    from spotter.review import client
    from spotter.rundir.run import select

    chosen = select(selector)
    if show:
        echo(review.preview(chosen, question=question, frames=frames))
        return
    client.needed()
    if not yes:
        _confirm(review.preview(chosen, question=question, frames=frames).partition("\n")[0])
    found = review.ask(chosen, question=question, frames=frames)
    echo(found.answer)
    echo(f"kept as {chosen.folder / 'reviews' / f'{found.number}.md'}", err=True)


def _confirm(what: str) -> None:
    """Nothing leaves this machine unasked."""
    if not is_terminal():
        raise UserError("not a terminal: add --yes to send without asking")
    if not typer.confirm(f"{what} Send it?"):
        raise typer.Exit(1)
