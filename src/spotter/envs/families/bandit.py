"""Our own multi-armed bandit, `Bandit-v0`: the smallest problem with something to learn.

    env: {id: Bandit-v0, kwargs: {means: [0, 0.5, 2], std: 1, pulls: 10}}

Each arm gives a Gaussian reward around its mean; there is nothing to see and no state to reach, so
a policy that learns anything learns which arm is best. `arms: 10`, also what there is if neither
is given, is short for means 0, 1, 2, … 9.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces as gs

from spotter import plugins
from spotter.config import EnvConfig
from spotter.envs.base import Env, make_registered, registered_info
from spotter.envs.spaces import Space
from spotter.types import EnvInfo, UserError

ID: Final = "Bandit-v0"
_DEFAULT_ARMS: Final = 10
Image = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Machine:
    """Checked settings of a bandit."""

    means: tuple[float, ...]
    std: float
    pulls: int


def machine(kwargs: Mapping[str, Any]) -> Machine:
    """`env.kwargs` as settings; a mistake is one sentence."""
    known = ("means", "arms", "std", "pulls")
    for name in kwargs:
        if name not in known:
            hint = plugins.did_you_mean(name, known)
            raise UserError(f"{ID} has no setting env.kwargs.{name}{hint}")
    std, pulls = kwargs.get("std", 1.0), kwargs.get("pulls", 1)
    if not _is_number(std) or std < 0:
        raise UserError(f"{ID}: env.kwargs.std must be a number from 0 up, not {std!r}")
    if not _is_whole(pulls) or pulls < 1:
        raise UserError(f"{ID}: env.kwargs.pulls must be a whole number from 1 up, not {pulls!r}")
    return Machine(_means(kwargs), float(std), int(pulls))


def _means(kwargs: Mapping[str, Any]) -> tuple[float, ...]:
    means, arms = kwargs.get("means"), kwargs.get("arms")
    if means is not None and arms is not None:
        raise UserError(f"{ID}: give env.kwargs.means or env.kwargs.arms, not both")
    if means is None:
        arms = _DEFAULT_ARMS if arms is None else arms
        if not _is_whole(arms) or arms < 2:
            raise UserError(f"{ID}: env.kwargs.arms must be a whole number from 2 up, not {arms!r}")
        return tuple(float(arm) for arm in range(int(arms)))
    is_list = isinstance(means, Sequence) and not isinstance(means, str)
    if not is_list or len(means) < 2 or not all(_is_number(mean) for mean in means):
        raise UserError(
            f"{ID}: env.kwargs.means must be a list of 2 or more numbers, not {means!r}"
        )
    return tuple(float(mean) for mean in means)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return _is_number(value) and float(value).is_integer()


def make(env: EnvConfig, render: bool = False) -> Env:
    if env.id == ID:
        machine(env.kwargs)  # its own sentences are better than a failed constructor's
        register()
    return make_registered(env, render)


def register() -> None:
    """Make the id known to Gymnasium; done by `make`, so that workers need nothing else."""
    if ID not in gym.registry:
        gym.register(id=ID, entry_point="spotter.envs.families.bandit:Bandit")


def describe(env: EnvConfig) -> EnvInfo:
    if env.id != ID:
        return registered_info(env)
    settings = machine(env.kwargs)
    pulls = min(settings.pulls, env.time_limit or settings.pulls)
    ranked = sorted(set(settings.means), reverse=True)
    # Half-way between always the best and always the second best arm; equal arms teach nothing.
    threshold = pulls * (ranked[0] + ranked[1]) / 2 if len(ranked) > 1 else None
    arms = range(len(settings.means))
    return EnvInfo(
        description="Find the arm with the highest mean reward by pulling them.",
        action_names=tuple(f"arm {arm}" for arm in arms),
        observation_names=("nothing",),
        score_range=(pulls * min(settings.means), pulls * max(settings.means)),
        threshold=threshold,
        keys={str((arm + 1) % 10): arm for arm in arms if arm < 10},
    )


class Bandit(gym.Env[int, int]):
    """`reset(seed=…)` forgets the pulls counted so far; later resets keep counting for the view."""

    metadata: dict[str, object] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None, **kwargs: object) -> None:
        settings = machine(kwargs)
        self.means = np.array(settings.means)
        self.std = settings.std
        self.pulls = settings.pulls
        self.render_mode = render_mode
        self.observation_space: Space = gs.Discrete(1)
        self.action_space: Space = gs.Discrete(len(self.means))
        self.counts = np.zeros(len(self.means), dtype=np.int64)
        self.last_arm: int | None = None
        self.last_reward = 0.0
        self._pulled = 0

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, object] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.counts[:] = 0
        self.last_arm, self.last_reward, self._pulled = None, 0.0, 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        if not 0 <= action < len(self.means):
            raise ValueError(f"there is no arm {action}; arms are 0 to {len(self.means) - 1}")
        self.last_arm = int(action)
        self.last_reward = float(self.np_random.normal(self.means[action], self.std))
        self.counts[action] += 1
        self._pulled += 1
        regret = float(self.means.max() - self.means[action])
        return 0, self.last_reward, self._pulled >= self.pulls, False, {"regret": regret}

    def render(self) -> Image | None:
        if self.render_mode != "rgb_array":
            return None
        return draw(self.means, self.counts, self.last_arm, self.last_reward)


_BAR, _GAP, _PLOT, _MARGIN = 40, 12, 180, 34
_WHITE, _INK, _QUIET, _CHOSEN = (255, 255, 255), (40, 40, 40), (120, 150, 190), (225, 120, 40)
_REWARD: Final = (200, 30, 30)
_PIXELS: Final = 3  # screen pixels per dot of a digit
_DIGITS: Final = {  # 3x5 dots, one number per row, highest bit left
    "0": (7, 5, 5, 5, 7),
    "1": (2, 6, 2, 2, 7),
    "2": (7, 1, 7, 4, 7),
    "3": (7, 1, 7, 1, 7),
    "4": (5, 5, 7, 1, 1),
    "5": (7, 4, 7, 1, 7),
    "6": (7, 4, 7, 5, 7),
    "7": (7, 1, 1, 2, 2),
    "8": (7, 5, 7, 5, 7),
    "9": (7, 5, 7, 1, 7),
    "-": (0, 0, 7, 0, 0),
    ".": (0, 0, 0, 0, 2),
    "k": (4, 5, 6, 5, 5),
}


def draw(means: Any, counts: Any, last_arm: int | None, last_reward: float) -> Image:
    """Bars to scale from zero, one per arm; below each its pulls, above the last reward.

    The arm pulled last is in another colour, with a line at its reward.
    """
    low, high = min(0.0, means.min(), last_reward), max(0.0, means.max(), last_reward)
    scale = (_PLOT - 1) / ((high - low) or 1.0)

    def row(value: float) -> int:
        return _MARGIN + round(float((high - value) * scale))

    image = np.full(
        (_PLOT + 2 * _MARGIN, _GAP + len(means) * (_BAR + _GAP), 3), _WHITE, dtype=np.uint8
    )
    for arm, mean in enumerate(means):
        left = _GAP + arm * (_BAR + _GAP)
        top, bottom = sorted((row(mean), row(0.0)))
        image[top : bottom + 1, left : left + _BAR] = _CHOSEN if arm == last_arm else _QUIET
        _write(image, _short(int(counts[arm])), _PLOT + _MARGIN + 10, left)
        if arm == last_arm:
            image[row(last_reward) : row(last_reward) + 2, left - 4 : left + _BAR + 4] = _REWARD
    image[row(0.0)] = _INK
    if last_arm is not None:
        _write(image, f"{last_reward:.2f}", 8, _GAP)
    return image


def _short(count: int) -> str:
    """A count that fits under a bar."""
    return str(count) if count < 1000 else f"{min(count // 1000, 999)}k"


def _write(image: Image, text: str, top: int, left: int) -> None:
    """Digits as blocks of dots, cut off at the right edge."""
    for character in text:
        rows = [[(bits >> place) & 1 for place in (2, 1, 0)] for bits in _DIGITS[character]]
        dots = np.kron(np.array(rows), np.ones((_PIXELS, _PIXELS))).astype(np.bool_)
        patch = image[top : top + dots.shape[0], left : left + dots.shape[1]]
        patch[dots[:, : patch.shape[1]]] = _INK
        left += 4 * _PIXELS
