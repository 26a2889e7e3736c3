"""What a reward-signal file holds: `Config(SignalConfig)` and `make(config, env) -> Signal`.

A signal belongs to one env, right above the bare environment, so it sees raw
observations and every skipped frame. What it reports is turned into reward by the mixer
(collect/rewards.py), in the main process, by kind:

sum        an amount per step; frames of one decision add up
potential  Φ(state); the learner's reward is γΦ(s') − Φ(s), which changes no optimal policy
cell       a whole number naming a region of state space; reward 1/√visits, counted over all envs
"""

from typing import Any, Literal, Protocol

Kind = Literal["sum", "potential", "cell"]


class Signal(Protocol):
    kind: Kind

    def start(self, obs: Any, info: dict[str, Any]) -> float:
        """Called after each reset; the potential or cell there (a sum has nothing to say)."""

    def step(self, obs: Any, action: Any, reward: float, info: dict[str, Any]) -> float:
        """Called after each raw step, with the environment's own reward."""
