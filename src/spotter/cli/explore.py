"""`spotter explore`: find ways through a game by returning to where it was left (Go-Explore)."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from spotter.text.echo import echo
from spotter.text.numbers import duration, number

if TYPE_CHECKING:
    from spotter.explore.go import Exploration, Progress

EXAMPLES: Final = """\
  spotter explore ALE/MontezumaRevenge-v5 --score 100     until the first key, some seconds
  spotter explore ALE/MontezumaRevenge-v5 --score 2500    the same command goes on from there
  spotter explore ALE/Pitfall-v5 --minutes 5
  spotter explore ALE/Venture-v5 --cells frames           for any game that can be drawn
  spotter explore ALE/MontezumaRevenge-v5 --minutes 0 --film best.mp4
"""
_STILL: Final = {"sticky": 0.0, "noops": 0, "life_loss": False, "observe": "ram", "stack": 1}
"""Of an Atari game: nothing is left to chance, and no frames are prepared."""


def run(
    env: Annotated[str, typer.Argument(metavar="ENV", help="A game, such as ALE/Pitfall-v5.")],
    settings: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="Settings of the game: env.frame_skip=8."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", metavar="M", help="Stop after computing for so long.", min=0),
    ] = None,
    frames: Annotated[
        float | None,
        typer.Option(
            "--frames", metavar="N", help="Stop after so many, earlier ones included.", min=0
        ),
    ] = None,
    score: Annotated[
        float | None, typer.Option("--score", metavar="X", help="Stop when a way scores so much.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of the game and chance.")] = 1,
    cells: Annotated[
        str | None,
        typer.Option(
            "--cells", metavar="HOW", help="What tells places apart: frames, or ram:x=42/8,y=43/8."
        ),
    ] = None,
    steps: Annotated[
        int, typer.Option("--steps", metavar="N", help="Actions from each start.", min=1)
    ] = 100,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Of the archive; else under explored/."),
    ] = None,
    film: Annotated[
        Path | None, typer.Option("--film", metavar="FILE", help="The best way as .mp4.")
    ] = None,
) -> None:
    """Explore a game by returning to places it was left at, rarely visited ones first.

    What is found, the best way to every place, is kept in a folder; the same command goes on from
    there. Without --minutes, --frames or --score it runs until Ctrl-C, which saves.
    """
    from spotter.explore import cells as telling
    from spotter.explore import shelf
    from spotter.explore.go import Exploration, Settings

    config = _game(env, settings or [])
    how = cells or telling.suited_to(config["id"])
    folder = out or shelf.home() / f"{config['id'].replace('/', '_')}-{seed}"
    exploration = Exploration(folder, Settings(env=config, cells=how, seed=seed, steps=steps))
    stopped_by = _explore(exploration, Limits(minutes, frames, score))
    echo(_words(exploration.progress))
    echo(f"archive {folder}; cells by {how}")
    if film is not None:
        _film(exploration, film)
    exploration.close()
    if stopped_by:
        raise typer.Exit(stopped_by)


class Limits(NamedTuple):
    """When to stop; None: not because of this."""

    minutes: float | None
    frames: float | None
    score: float | None


def _explore(exploration: "Exploration", limits: Limits) -> int:
    """Returns the exit code of a signal that ended it; 0 where none did."""
    from spotter.system.interrupts import EXIT_CODES, Interrupts

    before = exploration.progress.seconds

    def is_done(now: "Progress") -> bool:
        minutes, frames, score = limits
        return (
            (minutes is not None and now.seconds - before >= minutes * 60)
            or (frames is not None and now.frames >= frames)
            or (score is not None and now.score >= score)
        )

    def say(now: "Progress") -> None:
        if sys.stderr.isatty():
            echo(f"\r{_words(now)}  ", err=True, nl=False)

    with Interrupts() as interrupts:
        interrupts.begin()
        exploration.run(is_done, interrupts, say)
    return EXIT_CODES[interrupts.requested] if interrupts.requested else 0


def _game(env: str, settings: list[str]) -> dict[str, Any]:
    """Its settings, without chance and without what exploring does not look at."""
    from spotter.config import resolve

    still = [f"env.{key}={str(value).lower()}" for key, value in _STILL.items()]
    is_atari = resolve(env, settings).config.env.family == "atari"
    found = resolve(env, [*still, *settings] if is_atari else settings)  # what is typed wins
    return found.config.env.model_dump(mode="json", by_alias=True, exclude={"demo"})


def _words(now: "Progress") -> str:
    return (
        f"{now.cells:,} cells, best score {number(now.score)}, {now.frames:,} frames, "
        f"{now.starts:,} starts, {duration(now.seconds)} of computing"
    )


def _film(exploration: "Exploration", path: Path) -> None:
    from spotter.explore import show

    archive = exploration.archive
    made = show.film(vars(exploration.settings), archive.way(archive.best), path)
    echo(f"{made.path} ({made.seconds:.0f} s, score {number(made.score)})")
