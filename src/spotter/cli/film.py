"""`spotter film`: one video of a policy improving, checkpoint by checkpoint."""

from typing import Annotated, Final

import typer

from spotter.cli.runs import Selector
from spotter.cli.trust import Trust, trusting
from spotter.text.echo import echo
from spotter.text.numbers import number, plural

EXAMPLES: Final = """\
  spotter film @last                              half a minute, into the run's videos
  spotter film @last --checkpoints 6 --seconds 60
  spotter film @last --size 1080x1920 --out short.mp4 --title "Balance"
  spotter film @last -o short.gif --seconds 10     640x360, 12 frames per second
  spotter train CartPole-v1:ppo checkpoint.keep=null   keeps every checkpoint to film
"""


def run(
    selector: Selector,
    checkpoints: Annotated[
        int,
        typer.Option("--checkpoints", metavar="N", help="How many policies, untrained included."),
    ] = 4,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", help="How long the film may be.")
    ] = 30,
    size: Annotated[
        str | None,
        typer.Option("--size", metavar="WxH", help="1280x720 (a GIF 640x360), 1080x1920 …"),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", help="Of every episode; else evaluation's first."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="An .mp4 or .gif elsewhere."),
    ] = None,
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="On the first card.")] = "",
    fps: Annotated[
        int | None,
        typer.Option("--fps", metavar="N", help="Frames per second: 30, or 12 in a GIF."),
    ] = None,
    trust: Trust = False,
) -> None:
    """Film how a run learnt: the same seed, checkpoint after checkpoint, with captions."""
    from spotter.episodes.film import make_film

    with trusting(trust):
        made = make_film(
            selector,
            checkpoints=checkpoints,
            seconds=seconds,
            size=size,
            seed=seed,
            out=out,
            title=title,
            fps=fps,
            say=lambda what: echo(what, err=True),
        )
    for shot in made.shots:
        steps = plural(shot.stage.env_steps, "env step")
        echo(f"{steps:>20}  score {number(shot.score):>8}  {shot.captions.note}")
    echo(f"{made.path} ({made.seconds:.0f} s, {made.size[0]}x{made.size[1]})")
