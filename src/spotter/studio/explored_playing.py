"""Ways played again for a page; runs in the worker."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spotter.episodes.pictures import jpeg
from spotter.explore import show
from spotter.types import UserError
from spotter.video import FilmStopped


def frames(
    folder: str,
    about: Mapping[str, Any],
    pieces: Sequence[Sequence[int]],
    score: float,
    cell: bytes | None,
    within_s: float,
) -> tuple[list[bytes], str]:
    """A JPEG after each piece of a way, and why they may be wrong."""
    show.check_trusted(Path(folder), about)
    shown = show.frames(about["settings"], pieces, score, cell, within_s)
    return [jpeg(image) for image in shown.frames], shown.problem


def film(
    folder: str,
    about: Mapping[str, Any],
    actions: Sequence[int],
    path: str,
    max_s: float,
    report: Callable[[object], bool],
) -> bool:
    """Whether it was cut."""
    show.check_trusted(Path(folder), about)
    Path(path).parent.mkdir(exist_ok=True)

    def stop() -> bool:
        return not report(None)

    try:
        return show.film(about["settings"], actions, Path(path), max_s=max_s, stop=stop).is_cut
    except FilmStopped as error:
        raise UserError("the film was given up: its page was closed") from error
