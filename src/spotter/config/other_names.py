"""What policies and algorithms are called in other libraries; of settings, see synonyms.py."""

import re
from typing import Final

_POLICY_CLASS: Final = re.compile("(Mlp|Cnn|MultiInput)(Lstm)?Policy")


def of_policy_class(value: object) -> str:
    """`MlpPolicy` and the like, where a map of settings should stand."""
    found = _POLICY_CLASS.fullmatch(str(value))
    if found is None:
        return ""
    if found[2]:
        return "; leave it out, and write policy.core=lstm"
    return "; leave it out: the network follows from what the environment shows (policy.hidden …)"


def of_algorithm(name: str) -> str:
    """What to write for PPO with an LSTM, which is an algorithm of its own elsewhere."""
    cores = {"recurrentppo": "lstm", "ppolstm": "lstm", "ppogru": "gru"}
    core = cores.get(name.lower().replace("_", ""))
    return f"; write algo.name=ppo policy.core={core}" if core else ""
