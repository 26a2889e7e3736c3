"""Spotter: a reinforcement-learning workbench that watches every repetition.

import spotter
result = spotter.train("CartPole-v1:ppo", seed=1)
print(result.score)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spotter.api import load, make_env, plot, resolve, resume, run, runs, train

__version__ = "0.2.0"
__all__ = ["__version__", "load", "make_env", "plot", "resolve", "resume", "run", "runs", "train"]


def __getattr__(name: str) -> Any:
    """torch is loaded on first use, not on import."""
    if name in __all__:
        from spotter import api

        return vars(api)[name]
    raise AttributeError(f"module 'spotter' has no attribute '{name}'")
