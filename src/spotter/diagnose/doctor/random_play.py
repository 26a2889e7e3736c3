"""What random play of an environment shows about its numbers and its ends; pure functions."""

from typing import TYPE_CHECKING, Final

import numpy as np

from spotter.diagnose.doctor.changes import to
from spotter.diagnose.doctor.found import Found

if TYPE_CHECKING:
    from spotter.envs.checkup import End, Played

_UNEVEN: Final = 1000.0
_LARGE, _SMALL = 200.0, 1e-3
"""Rewards beyond these make most settings of the field unfit."""
_ENDS: Final = 2


def uneven(played: "Played") -> Found | None:
    """Numbers of very different size in one vector; images and dicts are left alone."""
    shown = played.shown
    if not all(isinstance(one, np.ndarray) and one.ndim == 1 and one.dtype.kind == "f"
               for one in shown):  # fmt: skip
        return None
    table = np.stack(shown)
    spread = table.std(axis=0)
    moving = spread[spread > 0]
    if len(moving) < 2 or not moving.max() > _UNEVEN * moving.min() or moving.max() < 10:
        return None
    most, least = int(spread.argmax()), int(np.where(spread > 0, spread, np.inf).argmin())
    return Found(
        "Some numbers of the observation are so large that the network cannot see the others.",
        (f"number {most} spreads by {spread[most]:.3g}, number {least} by {spread[least]:.2g} "
         "in random play",),
        (to("policy.normalize_obs", "running"),),
    )  # fmt: skip


def odd_rewards(played: "Played") -> Found | None:
    """Rewards, where there are any, much larger or smaller than settings are made for."""
    paid = np.abs([reward for reward, _, _ in played.paid if reward])
    if not len(paid) or _SMALL <= np.median(paid) <= _LARGE:
        return None
    word = "large" if np.median(paid) > _LARGE else "small"
    return Found(
        f"Its rewards are so {word} that most settings do not fit them.",
        (f"a reward is {np.median(paid):.3g} as a rule, in random play",),
        (to("reward.normalize", True),),
    )


def resets_itself(played: "Played") -> Found | None:
    """Whether the last observation of an episode is the first of the next, as far as it shows."""
    ends = played.ends
    reported = [end for end in ends if end.in_info]
    begun = len(ends) >= _ENDS and _moves(played) and all(_is_start(played, end) for end in ends)
    if not reported and not begun:
        return None
    saw = "info holds a final observation" if reported else "the last observation is a first one"
    return Found(
        "It resets itself: what it shows at an end belongs to the next episode already.",
        (f"{saw}, at {len(reported) or len(ends)} of {len(ends)} ends of episodes",),
        then="Take its own autoreset away: step() hands over the true last observation, and "
        "spotter resets it.",
    )


def _is_start(played: "Played", end: "End") -> bool:
    """Of any episode: after a lost life a game may well continue where it is."""
    return end.is_beginning and played.begins_like(end.last)


def _moves(played: "Played") -> bool:
    """A game that shows one thing only says nothing about its ends."""
    return not all(map(played.begins_like, played.shown))


def rewards(played: "Played") -> str:
    """`-1 to 0`: the span of single rewards."""
    paid = [reward for reward, _, _ in played.paid]
    low, high = min(paid), max(paid)
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
