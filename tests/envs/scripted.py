"""Environments with one habit each, for tests; importing this registers them.

`Scripted-v0` and `Faulty-v0` are in spotter.testing.scripted, where third parties find them too.
"""

from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs

from spotter.testing import scripted

__all__ = ["Buttons", "Constant", "Informed", "Masked", "Picture", "scripted"]


class Base(gym.Env[Any, Any]):
    """One number to see: the step. Never ends."""

    def __init__(self) -> None:
        self.observation_space: gs.Space[Any] = gs.Box(0, 1000, (1,), np.float32)
        self.action_space: gs.Space[Any] = gs.Discrete(2)
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.observe(), self.info()

    def step(self, action):
        self.steps += 1
        return self.observe(), 0.0, False, False, self.info()

    def observe(self) -> Any:
        return np.array([self.steps], np.float32)

    def info(self) -> dict[str, Any]:
        return {}


class Constant(Base):
    """Pays the same for every step; ends only where `length` or somebody's limit says so."""

    def __init__(self, reward: float = 1.0, length: int | None = None) -> None:
        super().__init__()
        self.reward = reward
        self.length = length

    def step(self, action):
        obs, _, _, _, info = super().step(action)
        return obs, self.reward, self.steps == self.length, False, info


class Informed(Base):
    """Puts all sorts of things into `info`; each episode has three steps."""

    def step(self, action):
        obs, *_ = super().step(action)
        return obs, 1.0, self.steps == 3, False, self.info()

    def info(self) -> dict[str, Any]:
        sometimes = {"bonus": 10.0 * self.steps} if self.steps % 2 else {}
        return sometimes | {
            "step": self.steps,
            "half": np.float32(self.steps / 2),
            "is_late": self.steps > 1,
            "flag": np.bool_(True),
            "action_mask": np.ones(2, np.int8),
            "picture": np.zeros(3),
            "name": "text",
            "nothing": None,
            "_step": 5,
            "episode": {"r": 1.0},
            7: 7.0,
        }


class Masked(Base):
    """Forbids every action from a given step on."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def info(self) -> dict[str, Any]:
        return {"action_mask": np.full(2, self.steps < self.at, np.int8)}


class Buttons(Base):
    """Shows the action it was given, whatever its kind; remembers it unflattened."""

    SPACES: ClassVar = {
        "discrete": lambda: gs.Discrete(5),
        "shifted": lambda: gs.Discrete(5, start=10),
        "multi_discrete": lambda: gs.MultiDiscrete([2, 3]),
        "multi_binary": lambda: gs.MultiBinary(3),
        "box": lambda: gs.Box(-2.0, 4.0, (2,), np.float32),
    }

    def __init__(self, kind: str = "discrete", mask: list[int] | None = None) -> None:
        super().__init__()
        self.action_space = self.SPACES[kind]()
        self.mask = mask
        self.observation_space = gs.Box(-np.inf, np.inf, (3,), np.float32)
        self.last: Any = np.zeros(3)

    def reset(self, *, seed=None, options=None):
        self.last = np.zeros(3)
        return super().reset(seed=seed)

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
        self.last = action
        return super().step(action)

    def observe(self) -> Any:
        flat = np.atleast_1d(np.asarray(self.last, np.float32)).ravel()
        return np.concatenate([flat, np.zeros(3 - len(flat), np.float32)])

    def info(self) -> dict[str, Any]:
        return {} if self.mask is None else {"action_mask": np.array(self.mask, np.int8)}


class Picture(Base):
    """Pixels hold the step number (times ten); with `flickers`, odd frames are black.

    One array is overwritten for all frames.
    """

    def __init__(
        self, shape: tuple[int, ...] = (6, 4, 3), flickers: bool = False, dtype: str = "uint8"
    ) -> None:
        super().__init__()
        high = 255 if dtype == "uint8" else 1.0
        self.observation_space = gs.Box(0, high, tuple(shape), np.dtype(dtype).type)
        self.flickers = flickers
        self.canvas = np.zeros(shape, dtype)

    def observe(self) -> Any:
        brightness = (10 * self.steps + 5) % 256
        self.canvas[...] = 0 if self.flickers and self.steps % 2 else brightness
        return self.canvas


for _class in (Buttons, Constant, Informed, Masked, Picture):
    if f"{_class.__name__}-v0" not in gym.registry:
        gym.register(id=f"{_class.__name__}-v0", entry_point=f"{__name__}:{_class.__name__}")
