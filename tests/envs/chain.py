"""A long way with one reward at its end: a wrong step ends the game."""

import gymnasium as gym

LENGTH = 30
ACTIONS = 4
WAY = [(7 * place // 2) % ACTIONS for place in range(LENGTH)]
"""The right action at every place."""
ID = "tests.envs.chain:Chain-v0"


class Chain(gym.Env):
    """`lives` wrong steps end it; `turned` swaps the actions; seeds but 1 may `slip` at once."""

    action_space = gym.spaces.Discrete(ACTIONS)
    observation_space = gym.spaces.Discrete(LENGTH + 1)

    def __init__(self, lives=1, turned=False, slip=0.0):
        self.most, self.turned, self.slip = lives, turned, slip

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.slips = seed != 1
        self.place, self.lives = 0, self.most
        return 0, {"lives": self.lives}

    def step(self, action):
        wanted = WAY[self.place]
        if self.slips and self.np_random.random() < self.slip:
            action = wanted + 1
        if action == (ACTIONS - 1 - wanted if self.turned else wanted):
            self.place += 1
        else:
            self.lives -= 1
        won = self.place == LENGTH
        return self.place, 10.0 * won, won or not self.lives, False, {"lives": self.lives}


if "Chain-v0" not in gym.registry:
    gym.register("Chain-v0", Chain)


def demo(**changes):
    """`env.demo`: the whole way."""
    from spotter.config.demo import written

    return {"actions": written(WAY), "score": 10.0, "seed": 1, **changes}
