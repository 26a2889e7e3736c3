import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

from spotter.envs.families import box2d
from spotter.types import UserError
from tests.envs.helpers import config


@pytest.mark.parametrize(
    ("env_id", "threshold"),
    [("LunarLander-v3", 200), ("BipedalWalkerHardcore-v3", 300), ("CarRacing-v3", 900)],
)
def test_thresholds_are_the_registered_ones(env_id, threshold):
    assert box2d.describe(config(env_id, "box2d")).threshold == threshold


def test_settings_change_names_and_keys():
    discrete = box2d.describe(config("CarRacing-v3", "box2d", kwargs={"continuous": False}))
    assert discrete.action_names[discrete.keys["up"]] == "gas"
    assert not box2d.describe(config("CarRacing-v3", "box2d")).keys
    hard = box2d.describe(config("BipedalWalker-v3", "box2d", kwargs={"hardcore": True}))
    assert (
        hard.description == box2d.describe(config("BipedalWalkerHardcore-v3", "box2d")).description
    )
    continuous = box2d.describe(config("LunarLander-v3", "box2d", kwargs={"continuous": True}))
    assert continuous.action_names == ("main engine", "side engines")


def test_the_landers_keys_do_what_they_say():
    env = config("LunarLander-v3", "box2d")
    keys = box2d.describe(env).keys

    def gained(key):
        game = box2d.make(env)
        start, _ = game.reset(seed=1)
        for _ in range(10):
            obs, *_ = game.step(keys[key])
        return obs - start

    assert gained("left")[2] < gained("down")[2] < gained("right")[2]
    assert gained("up")[3] > gained("down")[3]


@pytest.mark.parametrize("missing", ["Box2D", "pygame"])
def test_what_is_missing_is_one_line_with_the_command(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UserError) as caught:
        box2d.make(config("LunarLander-v3", "box2d"))
    assert str(caught.value).startswith(
        f"{missing} is not installed: pip install 'spotter-rl[box2d]'"
    )


def test_loading_survives_warnings_as_errors():
    """Box2D's compiled half crashes the interpreter when its warning is made an error."""
    code = (
        "from spotter.config import EnvConfig; from spotter.envs.families import box2d;"
        "box2d.make(EnvConfig(id='LunarLander-v3', family='box2d')).reset(seed=1)"
    )
    command = [sys.executable, "-W", "error::DeprecationWarning", "-c", code]
    assert subprocess.run(command, check=False).returncode == 0


def _played(env, seed, steps=150):
    draw = np.random.default_rng(seed)
    seen = [env.reset(seed=seed)[0]]
    for _ in range(steps):
        low, high = env.action_space.low, env.action_space.high
        obs, _, terminated, truncated, _ = env.step(draw.uniform(low, high).astype(np.float32))
        seen.append(obs)
        if terminated or truncated:
            break
    return np.array(seen)


@pytest.mark.parametrize(("env_id", "steps"), [("BipedalWalker-v3", 150), ("CarRacing-v3", 30)])
def test_an_episode_does_not_depend_on_those_before(env_id, steps):
    """Gymnasium's own walker fails this: its physics world remembers."""
    env = config(env_id, "box2d")
    plain, used = gym.make(env_id), box2d.make(env)
    for seed in range(4):
        fresh = box2d.make(env)
        ours, theirs = _played(used, seed, steps), _played(fresh, seed, steps)
        assert np.array_equal(ours, theirs), seed
        fresh.close()
    assert np.array_equal(_played(box2d.make(env), 7, steps), _played(plain, 7, steps)), "same game"
