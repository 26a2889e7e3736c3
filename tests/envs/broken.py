"""Environments that break Gymnasium's contract, one way each; importing this registers them."""

from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs


class Kept(gym.Env[Any, Any]):
    """Keeps to it; five steps."""

    def __init__(self) -> None:
        self.observation_space: gs.Space[Any] = gs.Box(-1, 1, (2,), np.float32)
        self.action_space: gs.Space[Any] = gs.Discrete(2)
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.seen(), {}

    def step(self, action):
        self.steps += 1
        return self.seen(), self.paid(), self.steps == 5, False, {}

    def seen(self) -> Any:
        return np.zeros(2, np.float32)

    def paid(self) -> Any:
        return 1.0


class VectorReward(Kept):
    def paid(self):
        return np.array([1.0, 2.0])


class NoReward(Kept):
    def paid(self):
        return None


class TextReward(Kept):
    def paid(self):
        return "much"


class ShortReward(Kept):
    """An array of one number is one."""

    def paid(self):
        return np.array([1.0])


class LateReward(Kept):
    def paid(self):
        return None if self.steps == 3 else 1.0


class NoInfo(Kept):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0]


class NoSeed(Kept):
    def reset(self):
        return super().reset()


class FourValues(Kept):
    def step(self, action):
        obs, reward, over, _, info = super().step(action)
        return obs, reward, over, info


class ListInfo(Kept):
    def step(self, action):
        return (*super().step(action)[:4], ["nothing"])


class Flags(Kept):
    def step(self, action):
        obs, reward, over, cut, info = super().step(action)
        return obs, reward, np.array([over, over]), cut, info


class NoObservationSpace(Kept):
    def __init__(self):
        super().__init__()
        del self.observation_space


class NoActionSpace(Kept):
    def __init__(self):
        super().__init__()
        self.action_space = "left, right"


class Empty(Kept):
    def __init__(self):
        super().__init__()
        self.observation_space = gs.Box(-1, 1, (0,), np.float32)


class NoAction(Kept):
    def __init__(self):
        super().__init__()
        self.action_space = gs.Box(-1, 1, (0,), np.float32)


class WrongShape(Kept):
    def seen(self):
        return np.zeros(3, np.float32)


class Strange(Kept):
    """A leaf that no network takes, in a Dict or in a Tuple."""

    LEAVES: ClassVar = {
        "graph": lambda: gs.Graph(gs.Box(-1, 1, (2,)), None),
        "sequence": lambda: gs.Sequence(gs.Discrete(3)),
        "empty": lambda: gs.Box(-1, 1, (0,)),
        "novel": lambda: gs.Text(100_000),
    }

    def __init__(self, kind: str = "graph", inside: str = "dict") -> None:
        super().__init__()
        leaf, number = self.LEAVES[kind](), gs.Box(-1, 1, (2,), np.float32)
        self.inside = inside
        self.observation_space = {
            "dict": lambda: gs.Dict({"mission": leaf, "x": number}),
            "deep": lambda: gs.Dict({"said": gs.Dict({"mission": leaf, "also": number})}),
            "tuple": lambda: gs.Tuple((leaf, number)),
        }[inside]()

    def seen(self):
        self.observation_space.seed(1)
        return self.observation_space.sample()


class Said(Kept):
    """Says in words which of four actions pays; `charset` as a set has no order of its own."""

    WORDS = ("left", "right", "up", "down")

    def __init__(self, words: tuple[str, ...] = WORDS, max_length: int = 5) -> None:
        super().__init__()
        self.words = words
        text = gs.Text(max_length, charset=frozenset("".join(self.WORDS)))
        self.observation_space = gs.Dict({"mission": text, "x": gs.Box(-1, 1, (2,), np.float32)})
        self.action_space = gs.Discrete(4)
        self.wanted = 0

    def seen(self):
        self.wanted = int(self.np_random.integers(len(self.words)))
        return {"mission": self.words[self.wanted], "x": super().seen()}

    def step(self, action):
        reward = float(action == self.wanted)
        obs, _, *rest = super().step(action)
        return obs, reward, *rest


for _name, _class in list(globals().items()):
    if isinstance(_class, type) and issubclass(_class, Kept) and f"{_name}-v0" not in gym.registry:
        gym.register(f"{_name}-v0", entry_point=f"{__name__}:{_name}", max_episode_steps=20)
