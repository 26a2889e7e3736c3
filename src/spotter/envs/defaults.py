"""Which defaults suit an environment that has no recipe, by what it shows and takes."""

from collections.abc import Iterator
from contextlib import closing
from typing import Final

from gymnasium import spaces as gs

from spotter.config import EnvConfig
from spotter.envs.make import EnvBuilder
from spotter.envs.spaces import Space, is_image
from spotter.types import UserError

_SEEN: Final = 24
"""Cells on a side: the boards people play on have fewer, the images networks learn from more."""
_TABULAR: Final = (gs.Discrete, gs.MultiDiscrete, gs.MultiBinary)


def suited_to(env: EnvConfig) -> str:
    """The name of a file in recipes/defaults; empty where the environment cannot be made."""
    try:
        with closing(
            EnvBuilder(env).build()
        ) as instance:  # with its wrappers: they change what it shows
            return of_spaces(instance.env.observation_space, instance.env.action_space)
    except UserError:
        return ""  # building it for training reports why


def of_spaces(observation: Space, action: Space) -> str:
    leaves = list(_leaves(observation))
    pictures = [leaf for leaf in leaves if isinstance(leaf, gs.Box) and is_image(leaf)]
    if pictures:
        return "grid" if all(_is_small(picture) for picture in pictures) else "pixels"
    if isinstance(action, gs.Box):
        return "continuous"
    return "tabular" if all(isinstance(leaf, _TABULAR) for leaf in leaves) else "discrete"


def _is_small(picture: gs.Box) -> bool:
    """A board of cells rather than something seen."""
    return sorted(picture.shape)[-2] < _SEEN  # the two larger sides are height and width


def _leaves(space: Space) -> Iterator[Space]:
    if isinstance(space, gs.Dict):
        space = gs.Tuple(list(space.spaces.values()))
    if isinstance(space, gs.Tuple):
        for inner in space.spaces:
            yield from _leaves(inner)
    else:
        yield space
