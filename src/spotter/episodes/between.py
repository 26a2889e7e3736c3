"""Frames between two decisions, for viewers: a game that repeats each action for four frames looks
like fifteen frames per second otherwise. Observations and rewards do not change.
"""

from typing import Any

import gymnasium as gym

from spotter.config import EnvConfig
from spotter.envs.backends.slices import EnvInstance

Pictures = list[Any]


def watch(instance: EnvInstance, env: EnvConfig) -> Pictures:
    """A list that grows by an image with every raw frame, where available.

    Those are Atari, whose console is read after each frame, and whatever the `frame_skip` wrapper
    holds. Elsewhere it stays empty.
    """
    pictures: Pictures = []
    bare: object = instance.meter.env.unwrapped
    if hasattr(bare, "ale"):
        bare.ale = _Console(bare.ale, pictures)
    elif any(wrapper.name == "frame_skip" and not wrapper.train_only for wrapper in env.wrappers):
        instance.meter.env = _Watcher(instance.meter.env, pictures)
    return pictures


class _Console:
    """An Atari console that also records its screen."""

    def __init__(self, console: Any, pictures: Pictures) -> None:
        self._console, self._pictures = console, pictures

    def act(self, action: object) -> Any:
        reward = self._console.act(action)
        self._pictures.append(self._console.getScreenRGB())
        return reward

    def __getattr__(self, name: str) -> object:
        return getattr(self._console, name)


class _Watcher(gym.Wrapper[Any, Any, Any, Any]):
    """Looks after every raw step."""

    def __init__(self, env: gym.Env[Any, Any], pictures: Pictures) -> None:
        super().__init__(env)
        self._pictures = pictures

    def step(self, action: object) -> Any:
        step = self.env.step(action)
        self._pictures.append(self.env.render())
        return step
