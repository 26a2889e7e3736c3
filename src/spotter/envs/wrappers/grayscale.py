"""RGB images as brightness: [H, W, 3] becomes [H, W], weighted as the eye weighs colours."""

from typing import Any, Final, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs

from spotter.config import WrapperConfig
from spotter.envs.base import Env
from spotter.envs.wrapping import needs_picture
from spotter.types import UserError

_WEIGHTS: Final = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # ITU-R BT.601


class Config(WrapperConfig):
    name: Literal["grayscale"]


def wrap(config: Config, env: Env) -> Env:
    return Grayscale(env)


class Grayscale(gym.ObservationWrapper[Any, Any, Any]):
    def __init__(self, env: Env) -> None:
        super().__init__(env)
        shape = needs_picture(env, "grayscale").shape
        if len(shape) != len(_WEIGHTS) or shape[-1] != len(_WEIGHTS):
            raise UserError(f"grayscale needs images with 3 colours, but these have shape {shape}")
        self.observation_space = gs.Box(0, 255, shape[:2], np.uint8)

    def observation(self, observation: Any) -> object:
        return np.rint(observation @ _WEIGHTS).astype(np.uint8)
