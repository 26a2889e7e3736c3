"""Training: `Training.step()`, and the loop that evaluates, records, saves and stops around it.

Not for collecting (collect/), objectives (algos/) or showing (sinks/).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spotter.training.run import train
    from spotter.training.training import Training

__all__ = ["Training", "train"]


def __getattr__(name: str) -> Any:
    # reports and scripts say `from spotter.training import train`; torch is loaded on first use
    if name == "Training":
        from spotter.training.training import Training

        return Training
    if name == "train":
        from spotter.training.run import train

        return train
    raise AttributeError(f"module 'spotter.training' has no attribute '{name}'")
