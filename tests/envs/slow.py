"""An environment that takes its time."""

import time

import gymnasium as gym

from tests.envs.scripted import Base


class Slow(Base):
    def step(self, action):
        time.sleep(0.03)
        return super().step(action)


gym.register("Slow-v0", Slow)
