"""What a file in envs/families/ declares about an environment, checked against the environment
itself.

`check_family` and its parts raise `Broken`, one sentence per violation; `spotter.testing.families`
offers them to test suites. `examine` looks at one environment as training builds it and says what
it found, for `spotter doctor`. Envs are made one after another, never two at a time: some
emulators allow one per process.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np
from gymnasium import spaces as gs

from spotter.config import EnvConfig
from spotter.envs.base import Env, family
from spotter.envs.make import EnvBuilder
from spotter.envs.spaces import Space
from spotter.envs.spaces import describe as describe_spaces
from spotter.types import EnvInfo, Spaces

Make = Callable[[], Env]
_PATIENCE_S: Final = 0.5
_FINALS: Final = {"final_obs", "final_observation"}


class Broken(AssertionError):  # noqa: N818 - what an environment does wrong, not we
    """A requirement that an environment violates, as one sentence."""


@dataclass(frozen=True)
class Played:
    """Observations and rewards of an env, from its reset on."""

    shown: tuple[Any, ...]
    paid: tuple[tuple[float, bool, bool], ...]
    """Reward, terminated, truncated."""
    actions: tuple[Any, ...]
    seconds: tuple[float, ...]
    ends: tuple["End", ...] = ()

    def equals(self, other: "Played") -> bool:
        return self.paid == other.paid and all(map(same, self.shown, other.shown))

    def begins_like(self, obs: Any) -> bool:
        """Whether this is what was shown first."""
        return same(self.shown[0], obs)


@dataclass(frozen=True)
class End:
    """Where an episode ended and the next began."""

    last: Any
    first: Any
    in_info: bool
    """Whether the game keeps the true last observation in `info`: then it has reset itself."""

    @property
    def is_beginning(self) -> bool:
        """Whether what was shown last is how the next one begins."""
        return same(self.last, self.first)


def check_family(env: EnvConfig, steps: int = 20) -> None:
    """Every check except that of rendering, which needs more dependencies."""
    check_plays(env, steps)
    check_repeats(env, steps)
    check_description(env)


def check_plays(env: EnvConfig, steps: int = 20) -> None:
    """An env can be made, read, reset and stepped, and stays inside its spaces."""
    game = family(env).make(env)
    try:
        describe_spaces(game.observation_space, game.action_space)
        play(game, 0, steps)
    finally:
        game.close()


def check_repeats(env: EnvConfig, steps: int = 20) -> None:
    """One seed and the same actions give the same game: in a used env, and in a fresh one."""
    problem = _repetition(lambda: family(env).make(env), env.id, steps)
    _expect(not problem, problem)


def _repetition(make: Make, name: str, steps: int) -> str:
    """What is wrong with it, as a sentence; empty if nothing is."""
    used = make()
    try:
        first = play(used, 5, steps)
        again = play(used, 5, steps, first.actions)
    finally:
        used.close()
    fresh = make()
    try:
        other = play(fresh, 5, steps, first.actions)
    finally:
        fresh.close()
    if not first.equals(other):
        return f"two instances of {name} differ under one seed"
    return "" if first.equals(again) else f"{name} does not repeat itself when reset with its seed"


def play(game: Env, seed: int, steps: int, actions: Sequence[object] = ()) -> Played:
    """Play on through ends, with these actions or valid ones drawn at random."""
    game.action_space.seed(0)
    obs, info = game.reset(seed=seed)
    shown, paid, taken, seconds, ends = [_kept(obs)], [], [], [], []
    for step in range(len(actions) or steps):
        _check_inside(game.observation_space, obs)
        action = actions[step] if actions else _some_action(game, info)
        began = perf_counter()
        obs, reward, terminated, truncated, info = game.step(action)
        seconds.append(perf_counter() - began)
        _expect(bool(np.isfinite(float(reward))), f"a reward of {reward}")
        taken.append(action)
        paid.append((float(reward), bool(terminated), bool(truncated)))
        shown.append(_kept(obs))
        if terminated or truncated:
            _check_inside(game.observation_space, obs)
            in_info = not _FINALS.isdisjoint(info)
            obs, info = game.reset()
            shown.append(_kept(obs))
            ends.append(End(shown[-2], shown[-1], in_info))
        if not actions and sum(seconds) > _PATIENCE_S:
            break
    return Played(tuple(shown), tuple(paid), tuple(taken), tuple(seconds), tuple(ends))


def _kept(obs: Any) -> object:
    """A copy: careless games overwrite one array for all their observations."""
    if isinstance(obs, dict):
        return {key: _kept(value) for key, value in obs.items()}
    if isinstance(obs, tuple):
        return tuple(_kept(value) for value in obs)
    return np.array(obs)


def _some_action(game: Env, info: Mapping[str, object]) -> object:
    if "action_mask" in info and isinstance(game.action_space, gs.Discrete):
        return game.action_space.sample(mask=np.asarray(info["action_mask"], np.int8))
    return game.action_space.sample()


def _check_inside(space: Space, obs: Any) -> None:
    """Shape and type; bounds are checked for whole numbers only (physics overshoots its own)."""
    if isinstance(space, gs.Box):
        array = np.asarray(obs)
        fits = array.shape == space.shape and bool(np.isfinite(array).all())
        if space.dtype == np.uint8:
            fits = fits and array.dtype == np.uint8
        _expect(fits, f"{_short(obs)} is not in {_short(space)}")
    else:
        _expect(bool(space.contains(obs)), f"{_short(obs)} is not in {_short(space)}")


def _short(thing: object) -> str:
    if isinstance(thing, np.ndarray) and thing.size > 16:
        return f"an array {thing.shape} of {thing.dtype}"
    return " ".join(str(thing).split())[:200]


def same(a: Any, b: Any) -> bool:
    """Whether two observations are equal, all the way down."""
    if isinstance(a, dict):
        return all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return all(same(x, y) for x, y in zip(a, b, strict=True))
    return np.array_equal(a, b)


def check_description(env: EnvConfig) -> None:
    """What `describe` says fits the spaces; what it leaves out is fine."""
    info = family(env).describe(env)
    game = family(env).make(env)
    try:
        _check_described(info, game)
    finally:
        game.close()


def _check_described(info: EnvInfo, game: Env) -> None:
    actions, observations = game.action_space, game.observation_space
    if info.action_names:
        count = _choices(actions)
        names = len(info.action_names)
        _expect(names == count, f"{names} names of actions, but there are {count}")
    if info.observation_names:
        count, names = _numbers(observations), len(info.observation_names)
        _expect(names == count, f"{names} names of observations, but there are {count}")
    if info.keys:
        _expect(isinstance(actions, gs.Discrete), "keys are for Discrete actions")
        assert isinstance(actions, gs.Discrete)
        start = int(actions.start)
        known = set(range(start, start + int(actions.n)))
        _expect(set(info.keys.values()) <= known, "a key stands for an action there is not")
    if info.score_range is not None:
        low, high = info.score_range
        _expect(low < high, f"a score range from {low} to {high}")
        _expect(
            info.threshold is None or low <= info.threshold <= high,
            f"the threshold {info.threshold} lies outside the scores {low} to {high}",
        )


def _choices(space: Space) -> int:
    return int(space.n) if isinstance(space, gs.Discrete) else int(np.prod(space.shape or ()))


def _numbers(space: Space) -> int:
    """A vector has a name per number, everything else one per leaf."""
    leaves = describe_spaces(space, gs.Discrete(2)).observation.values()
    return sum(leaf.shape[0] if leaf.kind == "vector" else 1 for leaf in leaves)


def check_picture(env: EnvConfig) -> None:
    """`make(render=True)` draws an RGB image after a step."""
    game = family(env).make(env, render=True)
    try:
        game.reset(seed=0)
        game.step(game.action_space.sample())
        picture: Any = game.render()
        is_image = isinstance(picture, np.ndarray) and picture.ndim == 3
        fits = is_image and picture.dtype == np.uint8 and picture.shape[2] == 3
        _expect(fits, f"an image is [height, width, 3] of bytes, not {_short(picture)}")
    finally:
        game.close()


def _expect(holds: bool, sentence: str) -> None:
    if not holds:
        raise Broken(sentence)


@dataclass(frozen=True)
class Examined:
    """What trying one environment, as training builds it, has shown."""

    spaces: Spaces
    step_s: float
    repeats: bool
    """One seed gives one game."""
    differs: bool
    """Other seeds give other games."""
    played: Played


def examine(env: EnvConfig, steps: int = 100) -> Examined:
    """Play a few games; a contract that is not kept is `Broken`."""

    def make() -> Env:
        return EnvBuilder(env).build().env

    game = make()
    try:
        spaces = describe_spaces(game.observation_space, game.action_space)
        first = play(game, 0, steps)
        other = play(game, 1, steps, first.actions)
    finally:
        game.close()
    check_description(env)
    return Examined(
        spaces,
        step_s=float(np.median(first.seconds)),
        repeats=not _repetition(make, env.id, len(first.actions)),
        differs=not first.equals(other),
        played=first,
    )
