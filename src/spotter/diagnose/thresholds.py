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
INTRINSIC_MOST: Final = 0.95
"""Share of the reward's size, once the environment rewards anything."""
EXHAUSTED: Final = 0.05
"""Share of what visit counts gave at their peak."""
SATURATED: Final = 0.5
"""Share of a core's numbers."""
FADED: Final = 0.2
"""A learning rate below this share of its peak was lowered on purpose."""


def is_collapsed(entropy: float, start: float, most: float, numbers: int) -> bool:
    """`most`: entropy of even chances; `numbers`: of a Box action, 0 where actions are choices."""
    if numbers:  # a density's entropy may be negative: no shares of it
        return start - entropy > BOX_DROP_NATS * numbers
    return entropy < COLLAPSED * max(start, most)


def is_looping(stalled: float, cut: float) -> bool:
    """Shares of episodes: evaluations that go in circles, training episodes cut by the limit."""
    return stalled >= LOOPING and cut <= stalled / 3


def kl_floor(target: float | None) -> float:
    """Below it, updates hardly move the policy."""
    return KL_LOW if target is None else min(KL_LOW, target / 10)


def kl_limit(clips: bool, target: float | None) -> float:
    """Above it, updates move the policy too far."""
    if target is not None:
        return 2 * target
    return KL_HIGH if clips else KL_HIGH_UNCLIPPED
