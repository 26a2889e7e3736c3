"""Small games with something wrong in them, for runs that must fail.

Each is registered with Gymnasium: `tests.diagnose.doctor.games:Frozen-v0` trains like any other.
"""

import math
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs
from gymnasium.envs.classic_control import CartPoleEnv

LENGTH = 50


class Frozen(gym.Env[Any, Any]):
    """Nothing ever changes, whatever is done."""

    observation_space = gs.Box(-1, 1, (4,), np.float32)
    action_space = gs.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.step_count = 0
        return self.see(), {}

    def step(self, action):
        self.step_count += 1
        return self.see(), self.pay(action), self.step_count == LENGTH, False, {}

    def see(self):
        return np.full(4, 0.5, np.float32)

    def pay(self, action):
        return 1.0


class Deaf(Frozen):
    """The picture moves and is seeded, but no action changes what is seen or paid."""

    def see(self):
        return self.np_random.uniform(-1, 1, 4).astype(np.float32)

    def pay(self, action):
        return float(self.np_random.uniform(0, 1))


class Alternate(Frozen):
    """Pays for another action than the last, which it does not show: only chance does well."""

    action_space = gs.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.last = -1
        return super().reset(seed=seed)

    def pay(self, action):
        changed, self.last = int(action) != self.last, int(action)
        return float(changed)


class Trap(Frozen):
    """A little at once, or much for patience: who stops exploring early never finds the latter."""

    observation_space = gs.Box(0, 1, (2,), np.float32)
    action_space = gs.Discrete(2)

    def step(self, action):
        self.step_count += 1
        if action == 0:
            return self.see(), 0.5, True, False, {}
        done = self.step_count == 24
        return self.see(), 10.0 * done, done, False, {}

    def see(self):
        return np.array([self.step_count / 24, 1.0], np.float32)


class Twin(Deaf):
    """Ignores its seed: all copies play the same game."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=7 if seed is not None else None)

    def pay(self, action):
        return super().pay(action) + 0.1 * float(action == 2)


class Falling(Deaf):
    """Fails in the middle of training."""

    steps_left = 600

    def step(self, action):
        self.steps_left -= 1
        if self.steps_left < 0:
            raise RuntimeError("the cartridge fell out")
        return super().step(action)


class Glitch(Deaf):
    """Pays a number that is none, after a good while."""

    steps_left = 300

    def pay(self, action):
        self.steps_left -= 1
        return math.nan if self.steps_left < 0 else super().pay(action)


class Eager(CartPoleEnv):
    """Resets itself when an episode ends, as vector environments do; `info` may say so."""

    tells = False

    def reset(self, *, seed=None, options=None):
        seen, info = super().reset(seed=seed)
        return (seen if self.tells else np.zeros_like(seen)), info

    def step(self, action):
        seen, paid, ended, cut, info = super().step(action)
        if not ended:
            return seen, paid, ended, cut, info
        again, _ = self.reset()
        return again, paid, ended, cut, {"final_obs": seen} if self.tells else {}


class EagerTelling(Eager):
    tells = True


class Loud(CartPoleEnv):
    """CartPole in micrometres: the same game, with enormous numbers."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.observation_space = gs.Box(-np.inf, np.inf, (4,), np.float32)

    def reset(self, **settings):
        seen, info = super().reset(**settings)
        return self.loud(seen), info

    def step(self, action):
        seen, *rest = super().step(action)
        return self.loud(seen), *rest

    def loud(self, seen):
        return (seen * 1e4 + 3e4).astype(np.float32)


for _name in ("Frozen", "Deaf", "Alternate", "Twin", "Falling", "Glitch", "Eager", "EagerTelling"):
    gym.register(f"{_name}-v0", entry_point=f"tests.diagnose.doctor.games:{_name}")
gym.register("Trap-v0", entry_point="tests.diagnose.doctor.games:Trap", reward_threshold=9.0)
gym.register(
    "Loud-v0",
    entry_point="tests.diagnose.doctor.games:Loud",
    max_episode_steps=500,
    reward_threshold=475.0,
)
