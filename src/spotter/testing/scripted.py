"""`Scripted-v0`: an environment of which every number is known beforehand.

Its observation says which seed, episode and step it belongs to and which action led there, so a
transition that was mixed up, dropped, repeated or overwritten cannot go unnoticed. `script` is
the same story told without an environment: what a back-end must deliver.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs

End = Literal["terminated", "truncated", "both"]
ID: Final = "spotter.testing.scripted:Scripted-v0"
LENGTHS: Final = (1, 2, 3)
ACTIONS: Final = 3


@dataclass(frozen=True)
class Moment:
    """Where a copy is in its script."""

    seed: int
    episode: int
    step: int
    action: int = -1
    """The action that led here; -1 right after a reset."""

    @property
    def reward(self) -> float:
        return 100.0 * self.episode + self.step

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        return self.seed, self.episode, self.step, self.action

    @property
    def mask(self) -> list[bool]:
        """One of the three actions is forbidden, each in turn."""
        return [(self.episode + self.step + action) % ACTIONS != 0 for action in range(ACTIONS)]


@dataclass(frozen=True)
class Transition:
    """One true step: learnt from `before` to `after`; the next action is taken at `shown`."""

    before: Moment
    after: Moment
    shown: Moment
    terminated: bool
    truncated: bool
    """Never set together with `terminated`: termination wins."""


def script(
    seed: int,
    actions: Sequence[int],
    lengths: Sequence[int] = LENGTHS,
    ends: Sequence[End] = ("terminated",),
) -> Iterator[Transition]:
    """What one copy must deliver when it is given these actions."""
    now = Moment(seed, 0, 0)
    for action in actions:
        after = Moment(seed, now.episode, now.step + 1, action)
        is_end = after.step == lengths[now.episode % len(lengths)]
        end = ends[now.episode % len(ends)]
        shown = Moment(seed, now.episode + 1, 0) if is_end else after
        yield Transition(
            before=now,
            after=after,
            shown=shown,
            terminated=is_end and end != "truncated",
            truncated=is_end and end == "truncated",
        )
        now = shown


class Scripted(gym.Env[Any, int]):
    """See the module. `reset(seed=…)` starts the script anew, `reset()` begins the next episode.

    `reuses_array`: every observation is the same object, overwritten, as careless games do.
    `nested`: a Dict holding a Tuple and an image instead of one vector.
    """

    def __init__(
        self,
        lengths: Sequence[int] = LENGTHS,
        ends: Sequence[End] = ("terminated",),
        reuses_array: bool = False,
        nested: bool = False,
        masks: bool = False,
    ) -> None:
        self.lengths = tuple(lengths)
        self.ends = tuple(ends)
        self.reuses_array = reuses_array
        self.nested = nested
        self.masks = masks
        numbers = gs.Box(-np.inf, np.inf, (4,), np.float32)
        picture = gs.Box(0, 255, (6, 5, 3), np.uint8)
        step = gs.Discrete(1000)
        self.observation_space: gs.Space[Any] = (
            gs.Dict({"numbers": numbers, "pair": gs.Tuple((picture, step))}) if nested else numbers
        )
        self.action_space: gs.Space[Any] = gs.Discrete(ACTIONS)
        self._numbers = np.zeros(4, np.float32)
        self._picture = np.zeros((6, 5, 3), np.uint8)
        self.now = Moment(0, -1, 0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        episode = 0 if seed is not None else self.now.episode + 1
        self.now = Moment(self.now.seed if seed is None else seed, episode, 0)
        return self._observe(), self._info()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before = self.now
        if before.step >= self.lengths[before.episode % len(self.lengths)]:
            raise RuntimeError("stepped after the end of an episode")
        self.now = Moment(before.seed, before.episode, before.step + 1, int(action))
        is_end = self.now.step == self.lengths[before.episode % len(self.lengths)]
        end = self.ends[before.episode % len(self.ends)]
        terminated, truncated = is_end and end != "truncated", is_end and end != "terminated"
        return self._observe(), self.now.reward, terminated, truncated, self._info()

    def _observe(self) -> Any:
        if not self.reuses_array:
            self._numbers, self._picture = self._numbers.copy(), self._picture.copy()
        self._numbers[:] = self.now.numbers
        self._picture[:] = self.now.step % 256
        if self.nested:
            return {"numbers": self._numbers, "pair": (self._picture, self.now.step)}
        return self._numbers

    def _info(self) -> dict[str, Any]:
        return {"action_mask": np.array(self.now.mask, np.int8)} if self.masks else {}


if "Scripted-v0" not in gym.registry:
    gym.register(id="Scripted-v0", entry_point="spotter.testing.scripted:Scripted")
