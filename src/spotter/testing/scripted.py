"""`Scripted-v0`: an environment of which every number is known beforehand.

Its observation says which seed, episode and step it belongs to and which action led there, so a
transition that was mixed up, dropped, repeated or overwritten cannot go unnoticed. `script` is
the same script without an environment: what a back-end must deliver. `Faulty-v0` follows the
script up to a given step and then fails in a given way.
"""

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs

End = Literal["terminated", "truncated", "both"]
Failure = Literal["raises", "nan reward", "nan observation", "hangs", "crashes", "exits"]
ID: Final = "spotter.testing.scripted:Scripted-v0"
FAULTY_ID: Final = "spotter.testing.scripted:Faulty-v0"
EXIT_CODE: Final = 3
LENGTHS: Final = (1, 2, 3)
ACTIONS: Final = 3


@dataclass(frozen=True)
class Moment:
    """Where an env is in its script."""

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
    """What one env must deliver when it is given these actions."""
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
    """See the module. `reset(seed=…)` restarts the script, `reset()` begins the next episode.

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
        self._now = (0, -1, 0, -1)

    @property
    def now(self) -> Moment:
        return Moment(*self._now)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, object] | None = None
    ) -> tuple[object, dict[str, object]]:
        super().reset(seed=seed)
        episode = 0 if seed is not None else self.now.episode + 1
        self._now = (self.now.seed if seed is None else seed, episode, 0, -1)
        return self._observe(), self._info()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before = self.now
        if before.step >= self.lengths[before.episode % len(self.lengths)]:
            raise RuntimeError("stepped after the end of an episode")
        self._now = (before.seed, before.episode, before.step + 1, int(action))
        is_end = self.now.step == self.lengths[before.episode % len(self.lengths)]
        end = self.ends[before.episode % len(self.ends)]
        terminated, truncated = is_end and end != "truncated", is_end and end != "terminated"
        return self._observe(), self.now.reward, terminated, truncated, self._info()

    def _observe(self) -> object:
        if not self.reuses_array:
            self._numbers, self._picture = self._numbers.copy(), self._picture.copy()
        self._numbers[:] = self.now.numbers
        self._picture[:] = self.now.step % 256
        if self.nested:
            return {"numbers": self._numbers, "pair": (self._picture, self.now.step)}
        return self._numbers

    def _info(self) -> dict[str, object]:
        return {"action_mask": np.array(self.now.mask, np.int8)} if self.masks else {}


class Faulty(Scripted):
    """Fails at one point of its script; `seed` None: whatever the seed, `step` 0: in `reset`."""

    def __init__(
        self,
        failure: Failure = "raises",
        seed: int | None = None,
        episode: int = 0,
        step: int = 1,
        **script: Any,
    ) -> None:
        super().__init__(**script)
        self.failure = failure
        self.bad_seed, self.bad_episode, self.bad_step = seed, episode, step

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, object] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = super().reset(seed=seed)
        obs, _ = self._spoilt(obs, 0.0)
        return obs, info

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = super().step(action)
        obs, reward = self._spoilt(obs, reward)
        return obs, reward, terminated, truncated, info

    def _spoilt(self, obs: object, reward: float) -> tuple[object, float]:
        now = self.now
        is_seed = self.bad_seed in (None, now.seed)
        if not is_seed or (now.episode, now.step) != (self.bad_episode, self.bad_step):
            return obs, reward
        if self.failure == "raises":
            raise RuntimeError("the wheels came off")
        if self.failure == "nan reward":
            return obs, float("nan")
        if self.failure == "nan observation":
            return np.full_like(obs, np.inf), reward
        _take_the_process_along(self.failure)
        return obs, reward


def _take_the_process_along(failure: Failure) -> None:
    while failure == "hangs":
        time.sleep(0.05)
    if failure == "crashes" and os.name == "posix":
        os.kill(os.getpid(), signal.SIGSEGV)
    os._exit(EXIT_CODE)


for _class in (Scripted, Faulty):
    if f"{_class.__name__}-v0" not in gym.registry:
        gym.register(id=f"{_class.__name__}-v0", entry_point=f"{__name__}:{_class.__name__}")
