"""Pictures between two decisions, for eyes: a game that repeats each action for four frames looks
like fifteen pictures a second otherwise. What the policy sees and what is paid do not change.
"""

from typing import Any

import gymnasium as gym

from spotter.config import EnvConfig
from spotter.envs.slices import Copy

Pictures = list[Any]


def watch(copy: Copy, env: EnvConfig) -> Pictures:
    """A list that grows by a picture with every raw frame, where they can be had.

    Those are Atari, whose console is asked after each frame, and whatever the `frame_skip` wrapper
    holds. Elsewhere it stays empty.
    """
    pictures: Pictures = []
    bare: Any = copy.meter.env.unwrapped
    if hasattr(bare, "ale"):
        bare.ale = _Console(bare.ale, pictures)
    elif any(wrapper.name == "frame_skip" and not wrapper.train_only for wrapper in env.wrappers):
        copy.meter.env = _Watcher(copy.meter.env, pictures)
    return pictures


class _Console:
    """An Atari console somebody looks at; everything else is its own."""

    def __init__(self, console: Any, pictures: Pictures) -> None:
        self._console, self._pictures = console, pictures

    def act(self, action: Any) -> Any:
        reward = self._console.act(action)
        self._pictures.append(self._console.getScreenRGB())
        return reward

    def __getattr__(self, name: str) -> Any:
        return getattr(self._console, name)


class _Watcher(gym.Wrapper[Any, Any, Any, Any]):
    """Looks after every raw step."""

    def __init__(self, env: gym.Env[Any, Any], pictures: Pictures) -> None:
        super().__init__(env)
        self._pictures = pictures

    def step(self, action: Any) -> Any:
        step = self.env.step(action)
        self._pictures.append(self.env.render())
        return step
