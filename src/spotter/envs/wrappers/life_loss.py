"""End a training episode when a life is lost, while the game itself continues.

The learner sees death as death; the score stays that of the whole game, which is one episode for
the score whatever the number of lives. The game's `info` must hold `lives`. Left out in evaluation,
where only the end of the game counts.
"""

from typing import Any, Literal

import gymnasium as gym
from pydantic import Field

from spotter.config import WrapperConfig
from spotter.envs.base import Env
from spotter.envs.wrapping import Start, Step
from spotter.types import UserError


class Config(WrapperConfig):
    name: Literal["life_loss"]
    train_only: bool = Field(True, description="Leave it out in evaluation and play.")


def wrap(config: Config, env: Env) -> Env:
    return LifeLoss(env)


class LifeLoss(gym.Wrapper[Any, Any, Any, Any]):
    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self._lives = 0
        self._next_life: Start | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        """The next life of the same game, if it has one; with a seed, always a new game."""
        start, self._next_life = self._next_life, None
        if start is None or seed is not None:
            start = self.env.reset(seed=seed, options=options)
        if "lives" not in start[1]:
            raise UserError(f"life_loss needs info['lives'], which {self.env} does not give")
        self._lives = int(start[1]["lives"])
        return start

    def step(self, action: Any) -> Step:
        obs, reward, terminated, truncated, info = self.env.step(action)
        lives = int(info["lives"])
        if 0 < lives < self._lives and not (terminated or truncated):
            self._next_life = obs, info
            return obs, float(reward), True, False, {**info, "game_goes_on": True}
        return obs, float(reward), terminated, truncated, info
