"""Box2D physics: LunarLander, BipedalWalker, CarRacing. Needs `spotter-rl[box2d]`."""

import warnings
from dataclasses import replace
from typing import Any, Final

import gymnasium as gym

from spotter import plugins
from spotter.config import EnvConfig
from spotter.envs.base import Env, make_registered, registered_info
from spotter.envs.wrapping import Start
from spotter.types import EnvInfo

# These games have no hard bounds; the ranges are what play from hopeless to perfect usually gets.
_LANDER: Final = EnvInfo(
    description="Land between the flags, softly and upright, with little fuel.",
    action_names=("nothing", "left engine", "main engine", "right engine"),
    observation_names=(
        "x",
        "y",
        "x velocity",
        "y velocity",
        "angle",
        "angular velocity",
        "left leg touches",
        "right leg touches",
    ),
    score_range=(-500.0, 320.0),
    keys={"down": 0, "left": 1, "up": 2, "right": 3},
)
_LANDER_ENGINES: Final = ("main engine", "side engines")
_WALKER: Final = EnvInfo(
    description="Walk a two-legged robot to the end of the terrain; −100 points for falling.",
    action_names=("hip 1", "knee 1", "hip 2", "knee 2"),
    observation_names=(
        "hull angle",
        "hull angular velocity",
        "x velocity",
        "y velocity",
        "hip 1 angle",
        "hip 1 speed",
        "knee 1 angle",
        "knee 1 speed",
        "leg 1 touches",
        "hip 2 angle",
        "hip 2 speed",
        "knee 2 angle",
        "knee 2 speed",
        "leg 2 touches",
        *(f"lidar {ray}" for ray in range(10)),
    ),
    score_range=(-150.0, 340.0),
)
_RACE: Final = EnvInfo(
    description="Drive a lap on a new track, seen from above; 1000 points for all of its tiles.",
    action_names=("steering", "gas", "brake"),
    observation_names=("view from above",),
    score_range=(-200.0, 1000.0),
)
_RACE_KEYS: Final = {"right": 1, "left": 2, "up": 3, "down": 4}
_RACE_CHOICES: Final = ("nothing", "steer right", "steer left", "gas", "brake")
_HARDCORE: Final = "Walk a two-legged robot over ladders, stumps and pits; −100 points for falling."
_GRAVITY: Final = {"BipedalWalker": (0.0, -10.0), "CarRacing": (0.0, 0.0)}
_INFO: Final = {
    "LunarLander-v3": _LANDER,
    "LunarLanderContinuous-v3": _LANDER,
    "BipedalWalker-v3": _WALKER,
    "BipedalWalkerHardcore-v3": _WALKER,
    "CarRacing-v3": _RACE,
}


def make(env: EnvConfig, render: bool = False) -> Env:
    with warnings.catch_warnings():
        # Box2D's compiled half warns while it loads, and crashes Python where warnings are errors.
        warnings.simplefilter("ignore", DeprecationWarning)
        plugins.require("Box2D", extra="box2d")
    plugins.require("pygame", extra="box2d")  # Gymnasium imports it with every game of the family
    made = make_registered(env, render)
    gravity = _GRAVITY.get(type(made.unwrapped).__name__)
    return made if gravity is None else FreshWorld(made, gravity)


class FreshWorld(gym.Wrapper[Any, Any, Any, Any]):
    """A new physics world for every episode.

    The walker and the racer keep one for life, whose insides remember the bodies it has held: the
    same seed and actions then differ after other episodes. Gymnasium fixed the lander this way.
    """

    def __init__(self, env: Env, gravity: tuple[float, float]) -> None:
        super().__init__(env)
        self._gravity = gravity

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        import Box2D

        game: Any = self.unwrapped
        game._destroy()
        game.world = Box2D.b2World(self._gravity)
        return self.env.reset(seed=seed, options=options)


def describe(env: EnvConfig) -> EnvInfo:
    registered = registered_info(env)
    if env.id not in _INFO:
        return registered
    info = replace(_INFO[env.id], threshold=registered.threshold)
    if env.id.startswith("LunarLander"):
        is_continuous = env.kwargs.get("continuous", env.id == "LunarLanderContinuous-v3")
        return replace(info, action_names=_LANDER_ENGINES, keys={}) if is_continuous else info
    if env.id.startswith("BipedalWalker"):
        is_hardcore = env.kwargs.get("hardcore", env.id == "BipedalWalkerHardcore-v3")
        return replace(info, description=_HARDCORE) if is_hardcore else info
    if not env.kwargs.get("continuous", True):
        return replace(info, action_names=_RACE_CHOICES, keys=_RACE_KEYS)
    return info
