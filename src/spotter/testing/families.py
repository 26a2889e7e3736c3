"""What a file in envs/ promises about an environment, checked against the environment itself.

from spotter.testing.families import check_family
check_family(EnvConfig(id="MyGame-v0", family="my_package.envs"))
"""

from typing import Any

import numpy as np
from gymnasium import spaces as gs

from spotter.config import EnvConfig
from spotter.envs.base import Env, family
from spotter.envs.spaces import describe as describe_spaces
from spotter.types import EnvInfo


def check_family(env: EnvConfig, steps: int = 20) -> None:
    """Every check of this file but the one of the picture, which needs what drawing needs."""
    check_plays(env, steps)
    check_repeats(env, steps)
    check_description(env)


def check_plays(env: EnvConfig, steps: int = 20) -> None:
    """Copies can be made, understood, reset and stepped, and stay inside their spaces."""
    game = family(env).make(env)
    try:
        describe_spaces(game.observation_space, game.action_space)
        game.action_space.seed(0)
        obs, info = game.reset(seed=0)
        for _ in range(steps):
            _check_inside(game.observation_space, obs)
            obs, reward, terminated, truncated, info = game.step(_some_action(game, info))
            assert np.isfinite(float(reward)), f"reward {reward}"
            if terminated or truncated:
                obs, info = game.reset()
    finally:
        game.close()


def _some_action(game: Env, info: dict[str, Any]) -> Any:
    if "action_mask" in info and isinstance(game.action_space, gs.Discrete):
        return game.action_space.sample(mask=np.asarray(info["action_mask"], np.int8))
    return game.action_space.sample()


def _check_inside(space: gs.Space[Any], obs: Any) -> None:
    """Shape and type; bounds are checked for whole numbers only (physics overshoots its own)."""
    if isinstance(space, gs.Box):
        array = np.asarray(obs)
        assert array.shape == space.shape and np.isfinite(array).all(), f"{obs} is not in {space}"
    else:
        assert space.contains(obs), f"{obs} is not in {space}"


def check_repeats(env: EnvConfig, steps: int = 20) -> None:
    """Two copies with one seed and the same actions play the same game."""
    first, second = family(env).make(env), family(env).make(env)
    try:
        first.action_space.seed(0)
        a, info = first.reset(seed=5)
        b, _ = second.reset(seed=5)
        for _ in range(steps):
            assert _same(a, b), f"{env.id} does not repeat itself under one seed"
            action = _some_action(first, info)
            a, reward, terminated, truncated, info = first.step(action)
            b, other, *_ = second.step(action)
            assert float(reward) == float(other), f"{env.id} pays differently under one seed"
            if terminated or truncated:
                (a, info), (b, _) = first.reset(), second.reset()
    finally:
        first.close()
        second.close()


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return all(_same(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return all(_same(x, y) for x, y in zip(a, b, strict=True))
    return np.array_equal(a, b)


def check_description(env: EnvConfig) -> None:
    """What `describe` says fits the spaces; what it leaves out is fine."""
    info = family(env).describe(env)
    game = family(env).make(env)
    try:
        if info.action_names:
            assert len(info.action_names) == _choices(game.action_space)
        if info.observation_names:
            assert len(info.observation_names) == _numbers(game.observation_space)
        if info.keys:
            assert isinstance(game.action_space, gs.Discrete), "keys are for Discrete actions"
            start = int(game.action_space.start)
            actions = range(start, start + int(game.action_space.n))
            assert set(info.keys.values()) <= set(actions)
        _check_scores(info)
    finally:
        game.close()


def _choices(space: gs.Space[Any]) -> int:
    return int(space.n) if isinstance(space, gs.Discrete) else int(np.prod(space.shape or ()))


def _numbers(space: gs.Space[Any]) -> int:
    """A vector has a name per number, everything else one per leaf."""
    leaves = describe_spaces(space, gs.Discrete(2)).observation.values()
    return sum(leaf.shape[0] if leaf.kind == "vector" else 1 for leaf in leaves)


def _check_scores(info: EnvInfo) -> None:
    if info.score_range is not None:
        low, high = info.score_range
        assert low < high
        assert info.threshold is None or low <= info.threshold <= high


def check_picture(env: EnvConfig) -> None:
    """`make(render=True)` draws an RGB picture after a step."""
    game = family(env).make(env, render=True)
    try:
        game.reset(seed=0)
        game.step(game.action_space.sample())
        picture = game.render()
        assert isinstance(picture, np.ndarray) and picture.dtype == np.uint8
        assert picture.ndim == 3 and picture.shape[2] == 3, "an image is [height, width, 3]"
    finally:
        game.close()
