"""The numbers that alerts while training and the doctor afterwards judge by, each once.

Most are customs of the field, not laws: what is beyond them is looked at, not forbidden.
"""

from typing import Final

KL_USUAL: Final = 0.01
KL_HIGH: Final = 0.05
"""Of an algorithm that clips, per update; where there is a target, twice the target."""
KL_HIGH_UNCLIPPED: Final = 0.1
KL_LOW: Final = 5e-4
CLIPPED_HIGH: Final = 0.5
"""Share of samples outside the clip range."""
CLIPPED_LOW: Final = 1e-3
COLLAPSED: Final = 0.1
"""Share of the entropy at the start."""
BOX_DROP_NATS: Final = 3.0
"""For every number of a Box action, whose entropy has no zero."""
STD_COLLAPSED: Final = 0.05
"""Share of the std at the start."""
DEAD: Final = 0.5
"""Share of units."""
EXPLAINS_NOTHING: Final = 0.01
"""Share of the returns' variance."""
GRADIENT_TIMES: Final = 1000
"""Times algo.max_grad_norm."""
LOOPING: Final = 0.1
"""Share of evaluation episodes that go in circles until the time limit."""
FADED: Final = 0.2
"""A learning rate below this share of its peak was lowered on purpose."""


def kl_limit(clips: bool, target: float | None) -> float:
    """Above it, updates move the policy too far."""
    if target is not None:
        return 2 * target
    return KL_HIGH if clips else KL_HIGH_UNCLIPPED
