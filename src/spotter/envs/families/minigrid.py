"""MiniGrid and BabyAI: rooms, doors and keys, seen a few cells ahead. Needs `spotter-rl[minigrid]`.

A cell is three codes: what is there, its colour, its state. The package shows them as bytes of an
image, where a key (5) is nearly a ball (6); here each is a choice, so the network sees it one-hot.
The mission is a sentence in a space of its own that no network reads; it is left out.
"""

from typing import Any, Final

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs
from pydantic import Field

from spotter import plugins
from spotter.config import EnvConfig, Whole
from spotter.envs.base import Env, make_registered
from spotter.envs.drop import Drop
from spotter.types import EnvInfo, UserError

EXAMPLE: Final = "MiniGrid-Empty-5x5-v0"
ACTIONS: Final = ("left", "right", "forward", "pick up", "drop", "toggle", "done")
KEYS: Final = {"left": 0, "right": 1, "up": 2, "z": 3, "x": 4, "space": 5}
_MISSION: Final = "mission"


class Config(EnvConfig):
    """Settings of a world."""

    view: Whole | None = Field(
        None, ge=3, le=99, description="Cells seen, on a side: odd; null is MiniGrid's 7."
    )


def make(env: EnvConfig, render: bool = False) -> Env:
    register()
    view = _own(env).view
    if view is not None:
        if not view % 2:
            raise UserError(
                f"env.view={view} should be odd: the agent stands in the middle of its "
                f"nearest row; nearest: {view - 1 if view > 3 else 3}"
            )
        env = env.model_copy(update={"kwargs": {**env.kwargs, "agent_view_size": view}})
    made = Codes(make_registered(env, render))
    return made if _MISSION in env.drop else Drop(made, [_MISSION])


def register() -> None:
    """Make the ids known to Gymnasium."""
    plugins.require("minigrid", extra="minigrid")


def describe(env: EnvConfig) -> EnvInfo:
    return EnvInfo(
        action_names=ACTIONS,
        score_range=(0.0, 1.0) if "MiniGrid-" in env.id else None,
        keys=KEYS,
    )


def _own(env: EnvConfig) -> Config:
    return env if isinstance(env, Config) else Config.from_data(env.model_dump(by_alias=True))


class Codes(gym.ObservationWrapper[Any, Any, Any]):
    """The view as codes [H, W, 3] that are choices; the rest stays as it is."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        from minigrid.core.constants import COLOR_TO_IDX, OBJECT_TO_IDX, STATE_TO_IDX

        space = env.observation_space
        assert isinstance(space, gs.Dict)
        codes = np.empty(space["image"].shape or (), np.int64)
        codes[...] = len(OBJECT_TO_IDX), len(COLOR_TO_IDX), len(STATE_TO_IDX)
        self.observation_space = gs.Dict({**space, "image": gs.MultiDiscrete(codes)})

    def observation(self, observation: Any) -> dict[str, Any]:
        return {**observation, "image": observation["image"].astype(np.int64)}
