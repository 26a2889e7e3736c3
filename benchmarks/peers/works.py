"""The works every contestant is given: environment, algorithm and settings, as plain data.

Read by scripts in many virtual environments, so nothing but the standard library is imported.
Settings are the RL-Zoo's where it has them (W1, W2, W3, W7), else one sensible set for all.
"""

from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Work:
    """One training, the same for everybody."""

    name: str
    title: str
    env: str
    algo: Literal["ppo", "a2c", "reinforce"] = "ppo"
    count: int = 8
    """Parallel envs."""
    steps: int = 128
    """Vector steps per rollout."""
    minibatch: int = 256
    epochs: int = 4
    gamma: float = 0.99
    gae_lambda: float = 0.95
    lr: float = 3e-4
    clip: float = 0.2
    decays: bool = False
    """Whether learning rate and clip range fall linearly to 0."""
    entropy: float = 0.0
    value_weight: float = 0.5
    max_grad_norm: float = 0.5
    env_steps: int
    warm_up: int
    """Env steps before the clock starts."""
    threads: int = 1
    pixels: bool = False
    lstm: int = 0
    """Numbers that an LSTM remembers, for actor and critic each; 0: there is none."""
    score: float | None = None
    """Time to this score is measured as well."""

    @property
    def rollout(self) -> int:
        return self.count * self.steps

    def shortened(self, share: float) -> "Work":
        """Less of the same; at least one update after a warm-up of one."""
        updates = max(2, round(self.env_steps * share / self.rollout))
        warm_up = min(self.warm_up, (updates // 2) * self.rollout)
        return replace(self, env_steps=updates * self.rollout, warm_up=warm_up)


_CARTPOLE = "CartPole-v1"
_ALL = (
    Work(
        name="W1",
        title="CartPole-v1 PPO, RL-Zoo settings",
        env=_CARTPOLE,
        steps=32,
        epochs=20,
        gamma=0.98,
        gae_lambda=0.8,
        lr=1e-3,
        decays=True,
        env_steps=100_096,
        warm_up=5_120,
        score=475.0,
    ),
    Work(
        name="W2",
        title="LunarLander-v3 PPO, RL-Zoo settings",
        env="LunarLander-v3",
        count=16,
        steps=1024,
        minibatch=64,
        gamma=0.999,
        gae_lambda=0.98,
        entropy=0.01,
        env_steps=98_304,
        warm_up=16_384,
    ),
    Work(
        name="W3",
        title="Pong from pixels, PPO",
        env="ALE/Pong-v5",
        lr=2.5e-4,
        clip=0.1,
        decays=True,
        entropy=0.01,
        env_steps=5_120,
        warm_up=1_024,
        threads=2,
        pixels=True,
    ),
    Work(name="W4", title="Acrobot-v1 PPO", env="Acrobot-v1", env_steps=40_960, warm_up=2_048),
    Work(name="W5", title="Taxi-v4 PPO", env="Taxi-v4", env_steps=40_960, warm_up=2_048),
    Work(
        name="W6", title="FrozenLake-v1 PPO", env="FrozenLake-v1", env_steps=40_960, warm_up=2_048
    ),
    Work(
        name="W7",
        title="CartPole-v1 A2C, RL-Zoo settings",
        env=_CARTPOLE,
        algo="a2c",
        steps=5,
        minibatch=40,
        epochs=1,
        gae_lambda=1.0,
        lr=7e-4,
        env_steps=40_000,
        warm_up=2_000,
    ),
    Work(
        name="W8",
        title="CartPole-v1 REINFORCE (others: A2C as in W7)",
        env=_CARTPOLE,
        algo="reinforce",
        steps=5,
        minibatch=40,
        epochs=1,
        gae_lambda=1.0,
        lr=7e-4,
        env_steps=40_000,
        warm_up=2_000,
    ),
    Work(
        name="W9",
        title="CartPole-v1 PPO with an LSTM of 64",
        env=_CARTPOLE,
        lstm=64,
        env_steps=30_720,
        warm_up=2_048,
    ),
)
WORKS = {work.name: work for work in _ALL}
