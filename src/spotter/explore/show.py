"""What a way shows: frames at some of its places, and a film of it, played in the real game."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from time import monotonic
from typing import Any, Final

import numpy as np

from spotter.config import EnvConfig
from spotter.config.foreign import outside
from spotter.envs.base import Env, family
from spotter.explore import cells
from spotter.explore.cells import Cell
from spotter.rundir import trust
from spotter.types import UserError
from spotter.video import replay
from spotter.video.overlay import Image
from spotter.video.picture import NoPicture, image_of, no_window

_STEPS_BETWEEN_LOOKS: Final = 64
"""At the clock: actions take microseconds in some games."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Frames of a way that was played again."""

    frames: list[Image]
    problem: str
    """Why these may not be what exploring saw; empty where they are."""


def check_trusted(folder: Path, about: Mapping[str, Any]) -> None:
    """Refuse to import or open what an archive from elsewhere names."""
    settings = {"env": about["settings"]["env"]}
    names = outside(settings)
    info: dict[str, Any] = {"names": about.get("names"), "seal": str(about.get("seal") or "")}
    is_known = not trust.is_foreign(folder, info) and names.items() <= dict(info["names"]).items()
    if names and not is_known:
        named = ", ".join(f"{where}={name[:80]}" for where, name in names.items())
        raise UserError(
            f"exploration {folder.name} was not saved here and names {named}, which could run code "
            "that is not part of Spotter; resume it with spotter explore to save it here"
        )


def game_of(settings: Mapping[str, Any]) -> EnvConfig:
    """The config of the game that was explored."""
    config = EnvConfig.chosen(settings["env"]).from_data(settings["env"])
    assert isinstance(config, EnvConfig)
    return config


def frames(
    settings: Mapping[str, Any],
    pieces: Sequence[Sequence[int]],
    score: float,
    cell: Cell | None = None,
    within_s: float = math.inf,
) -> Shown:
    """What is seen after each piece of a way, which should end in `cell` with this score."""
    config, until = game_of(settings), monotonic() + within_s
    ends = list(accumulate(map(len, pieces)))
    wanted = frozenset(ends)
    actions = [action for piece in pieces for action in piece]
    seen: dict[int, Image] = {}
    reached = 0.0
    with _rendering(config) as env:
        look = cells.make(settings["cells"], env)
        env.reset(seed=settings["seed"])
        if 0 in wanted:
            seen[0] = image_of(env)
        for done, action in enumerate(actions, 1):
            if not done % _STEPS_BETWEEN_LOOKS and monotonic() > until:
                raise UserError(
                    f"this way of {len(actions):,} actions takes longer than {within_s:.0f} s to "
                    f"play; {done:,} were played"
                )
            _, reward, terminated, truncated, _ = env.step(action)
            reached += float(reward)
            if (terminated or truncated) and done < len(actions):
                raise UserError(_differs(config, f"the game ended after {done:,} actions"))
            if done in wanted:
                seen[done] = image_of(env)
        is_there = cell is None or look() == cell
    shown = [seen[end] for end in ends]
    if not math.isclose(reached, score, abs_tol=1e-6):
        return Shown(shown, _differs(config, f"its score was {reached:g}, not {score:g}"))
    return Shown(shown, "" if is_there else _differs(config, "it ended in another cell"))


@contextmanager
def _rendering(config: EnvConfig) -> Iterator[Env]:
    """The game as it was explored, and it renders; closed afterwards."""
    with no_window():
        env = family(config).make(config, render=True)
        try:
            yield env
        except NoPicture as error:
            raise UserError(f"{config.id} shows no frames: {error}") from error
        finally:
            env.close()


def _differs(config: EnvConfig, how: str) -> str:
    return f"played again, this way of {config.id} is another one: {how}"


def film(
    settings: Mapping[str, Any],
    actions: Sequence[int],
    path: Path,
    *,
    max_s: float | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> replay.Film:
    """A way as .mp4; of `max_s` seconds at the most."""
    config = game_of(settings)
    played = [np.array(action) for action in actions]
    title = f"{config.id}, explored"
    try:
        return replay.film(
            config, settings["seed"], played, path, title=title, max_s=max_s, stop=stop
        )
    except replay.CannotRender as error:
        raise UserError(str(error)) from error
