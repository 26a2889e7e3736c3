"""Which defaults suit an environment that has no recipe, by what it shows and takes."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

from gymnasium import spaces as gs

from spotter.config import EnvConfig
from spotter.envs import contract
from spotter.envs.base import family
from spotter.envs.spaces import is_image
from spotter.types import UserError

_TABULAR: Final = (gs.Discrete, gs.MultiDiscrete, gs.MultiBinary)


def suited_to(env: EnvConfig) -> str:
    """The name of a file in recipes/defaults; empty where the environment cannot be made."""
    try:
        with closing(family(env).make(env)) as made:
            contract.check_spaces(made)
            return of_spaces(made.observation_space, made.action_space)
    except UserError:
        return ""  # whoever makes it for good says why


def of_spaces(observation: gs.Space[Any], action: gs.Space[Any]) -> str:
    leaves = list(_leaves(observation))
    if any(isinstance(leaf, gs.Box) and is_image(leaf) for leaf in leaves):
        return "pixels"
    if isinstance(action, gs.Box):
        return "continuous"
    return "tabular" if all(isinstance(leaf, _TABULAR) for leaf in leaves) else "discrete"


def _leaves(space: gs.Space[Any]) -> Iterator[gs.Space[Any]]:
    if isinstance(space, gs.Dict):
        space = gs.Tuple(list(space.spaces.values()))
    if isinstance(space, gs.Tuple):
        for inner in space.spaces:
            yield from _leaves(inner)
    else:
        yield space
