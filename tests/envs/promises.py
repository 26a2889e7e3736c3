"""A family that breaks one of its promises, chosen by `env.kwargs.breaks`."""

import os
import time
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs

from spotter.types import EnvInfo, UserError

EXAMPLE = "Promises-v0"


def make(env, render=False):
    breaks = env.kwargs.get("breaks", "nothing")
    if breaks == "library":
        try:
            raise ImportError("libGL.so.1: cannot open shared object file: No such file")
        except ImportError as error:
            raise UserError("cv2 is not installed: pip install 'spotter-rl[atari]'") from error
    if breaks == "crash":
        os.abort()
    if breaks == "exit":
        os._exit(3)
    if breaks == "hang":
        time.sleep(60)
    if breaks == "make":
        raise RuntimeError("no such cartridge")
    return Game(breaks, render)


def describe(env):
    breaks = env.kwargs.get("breaks")
    names = ("a", "b") if breaks != "action names" else ("a", "b", "c")
    numbers = ("x", "y") if breaks != "observation names" else ("x",)
    keys = {"a": 0} if breaks != "keys" else {"a": 2}
    scores = (0.0, 1.0) if breaks != "scores" else (1.0, 0.0)
    threshold = 2.0 if breaks == "threshold" else None
    return EnvInfo("A game.", names, numbers, scores, threshold=threshold, keys=keys)


class Game(gym.Env[Any, Any]):
    """Two random numbers, unless a promise is to be broken."""

    def __init__(self, breaks, render):
        self.breaks = breaks
        self.render_mode = "rgb_array" if render else None
        self.observation_space = gs.Box(-10, 10, (2,), np.float32)
        if breaks == "bytes":
            self.observation_space = gs.Box(0, 255, (2,), np.uint8)
        self.action_space = gs.Discrete(2)
        self.fresh = np.random.default_rng()
        self.draw = np.random.default_rng(0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None and self.breaks != "reseeding":
            self.draw = np.random.default_rng(0 if self.breaks == "other seeds" else seed)
        print("noise of an emulator")
        return self._see(), {}

    def step(self, action):
        reward = float("nan") if self.breaks == "reward" else 1.0
        return self._see(), reward, bool(self.draw.random() < 0.1), False, {}

    def _see(self):
        numbers = (self.fresh if self.breaks == "seeds" else self.draw).normal(size=2)
        if self.breaks == "bytes":
            return np.zeros(2, np.float32)
        if self.breaks == "shape":
            return np.zeros(3, np.float32)
        return numbers.astype(np.float32)

    def render(self):
        if self.breaks == "display":
            raise RuntimeError("No available video device")
        kind = np.float32 if self.breaks == "picture" else np.uint8
        return np.zeros((4, 4, 3), kind)
