"""`spotter eval`: play a saved policy again and compare with the score it was saved with."""

import sys
from typing import Annotated

import typer

from spotter.cli import completion
from spotter.cli.options import whole
from spotter.cli.train import Overrides
from spotter.cli.trust import Trust, trusting
from spotter.text.echo import echo
from spotter.text.numbers import number

MISMATCH = 1


def run(
    selector: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="@last, an id or how it begins; /@best, /@latest, /step=N.",
            autocompletion=completion.runs,
        ),
    ],
    overrides: Overrides = None,
    episodes: Annotated[
        str | None,
        typer.Option("--episodes", metavar="N", help="Play so many on test seeds instead."),
    ] = None,
    trust: Trust = False,
) -> None:
    """Play a saved policy again; exit 1 if its score is not the one that was written down.

    With settings of your own, such as env.sticky=0.25: how well it does under those, on test seeds.
    """
    from spotter.training.evaluate import play_again

    count = None if episodes is None else whole("--episodes", episodes)
    with trusting(trust):
        played = play_again(selector, count, overrides or [])
    for again, as_written, unlike, differs in played:
        if unlike:
            echo(f"note: not the game it was trained on: {unlike}")
        echo(f"score {number(again.score)} over {len(again.scores)} {again.seeds} episodes")
        if as_written:
            echo("every episode scores what was written down with these weights")
        elif as_written is False:
            echo(f"that is not what it was saved with: {differs}", err=True)
    if any(one.as_written is False for one in played):
        sys.exit(MISMATCH)
