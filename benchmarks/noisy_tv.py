"""Which intrinsic rewards are fooled by noise? `python benchmarks/noisy_tv.py`

Ten places in a row; steps left and right. In the five on the right a screen shows noise that is new
at every step, whatever is done. After 400 rollouts of random play everything was seen: what a
reward still gives on the right is for noise alone. Shares of what it gave in the first rollout,
means of three seeds.
"""

from typing import TYPE_CHECKING, Any, Final

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs

if TYPE_CHECKING:
    from torch import Tensor

    from spotter.explore.intrinsic import Intrinsic
    from spotter.rollouts.rollout import Rollout

PLACES: Final = 10
REWARDS: Final[dict[str, dict[str, Any]]] = {
    "rnd": {"name": "rnd"},
    "prediction, random features": {"name": "prediction", "features": "random"},
    "prediction, inverse features": {"name": "prediction", "features": "inverse"},
    "boredom, inverse features": {"name": "prediction", "reward": "boredom"},
}
ROLLOUTS: Final = 400


class Screen(gym.Env[Any, Any]):
    """A row of places; on the right there is noise."""

    observation_space = gs.Box(-4, 4, (PLACES + 4,), np.float32)
    action_space = gs.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(PLACES))
        return self._look(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place = min(max(self.place + (1 if action else -1), 0), PLACES - 1)
        return self._look(), 0.0, False, False, {}

    def _look(self) -> Any:
        seen = np.zeros(PLACES + 4, np.float32)
        seen[self.place] = 1.0
        if self.place >= PLACES // 2:
            seen[PLACES:] = self.np_random.normal(size=4).clip(-4, 4)
        return seen


if "NoisyScreen-v0" not in gym.registry:
    gym.register("NoisyScreen-v0", "noisy_tv:Screen", max_episode_steps=50)


def left_over(reward: dict[str, Any], rollouts: int = ROLLOUTS, seed: int = 1) -> list[float]:
    """What it still gives without and with noise, as shares of what it gave at first."""
    from spotter.config import resolve
    from spotter.training.training import Training
    from spotter.types import Progress

    settings = {"reward.intrinsic": [reward], "seed": seed, "algo.steps": 64, "env.count": 8,
                "algo.minibatch": 64, "threads": 1}  # fmt: skip
    config = resolve("noisy_tv:NoisyScreen-v0:ppo", settings).config
    with Training(config) as training:
        explorer = training.explorer
        assert explorer is not None
        given = []
        for _ in range(rollouts):  # the policy does not learn: all places stay alike
            rollout = training.source.next(training.policy, Progress(0, 1)).rollout
            explorer.learn(rollout, Progress(0, 1))
            given.append(_by_place(explorer.parts[0], rollout))
    first = np.mean(given[0])
    return [float(x) for x in np.mean(given[-10:], axis=0) / first]


def _by_place(part: "Intrinsic", rollout: "Rollout[Tensor]") -> tuple[float, float]:
    """The mean novelty of steps to places without and with noise."""
    novelty, place = part.novelty_of(rollout), rollout.leaves["obs"][1:, :, :PLACES].argmax(-1)
    if (novelty < 0).any():  # boredom: from −1, where all is known
        novelty = novelty + 1
    novelty, goes_on = novelty[:-1], ~rollout.episode_end[:-1]
    noisy = place >= PLACES // 2
    return float(novelty[goes_on & ~noisy].mean()), float(novelty[goes_on & noisy].mean())


def main() -> None:
    print("| reward | left over without noise | with noise |\n|---|---:|---:|")
    for name, reward in REWARDS.items():
        found = np.mean([left_over(reward, seed=seed) for seed in (1, 2, 3)], axis=0)
        print(f"| {name} | {found[0]:.1%} | {found[1]:.1%} |")


if __name__ == "__main__":
    main()
