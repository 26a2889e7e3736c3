import sys

import pytest
from pydantic import ValidationError

from spotter.types import UserError
from tests.envs.helpers import wrapped


def lander(kwargs=None, **ranges):
    wrapper = {"name": "lunar_physics", **ranges}
    return wrapped("LunarLander-v3", wrapper, family="box2d", kwargs=kwargs or {})


def constants():
    module = sys.modules["gymnasium.envs.box2d.lunar_lander"]
    return module.MAIN_ENGINE_POWER, module.SIDE_ENGINE_POWER


def climb(env, action=2):
    """Vertical speed gained by one step of an engine."""
    obs, _ = env.reset(seed=1)
    return env.step(action)[0] - obs


def test_physics_are_drawn_at_every_reset_and_reported():
    env = lander(gravity=[-11, -9], wind_power=[5, 15], main_engine=[0.5, 1.5])
    seen = []
    for seed in (1, None, None, 1):
        _, info = env.reset(seed=seed)
        seen.append(info["physics"])
        assert env.step(0)[4]["physics"] == info["physics"]
        assert env.unwrapped.gravity == info["physics"]["gravity"]
        assert env.unwrapped.wind_power == info["physics"]["wind_power"]
    assert seen[0] == seen[3] and seen[0] != seen[1] != seen[2]
    assert all(0.5 <= physics["main_engine"] <= 1.5 for physics in seen)


def test_engine_power_acts_on_this_copy_only():
    usual = constants()
    strong, weak, plain = lander(main_engine=2.0), lander(main_engine=0.5), lander(gravity=-10)
    gains = [climb(env)[3] for env in (weak, plain, strong)]
    assert gains == sorted(gains) and len(set(gains)) == 3
    assert constants() == usual
    assert climb(plain)[3] == gains[1], "the others left no trace"


def test_side_engines_have_their_own_factor():
    assert abs(climb(lander(side_engine=3.0), 1)[5]) > abs(climb(lander(side_engine=1.0), 1)[5])


def test_power_is_put_back_when_a_step_fails():
    usual = constants()
    env = lander(main_engine=2.0)
    env.reset(seed=1)
    with pytest.raises(AssertionError):
        env.step(99)
    assert constants() == usual


def test_wind_is_switched_on_and_nothing_else_with_it():
    env = lander(turbulence_power=[1, 2])
    env.reset(seed=1)
    assert env.unwrapped.enable_wind and env.unwrapped.wind_power == 0
    windy = lander({"enable_wind": True, "wind_power": 12.0}, turbulence_power=[1, 2])
    windy.reset(seed=1)
    assert windy.unwrapped.wind_power == 12
    calm = lander(gravity=-9.0)
    assert not calm.unwrapped.enable_wind


def test_nonsense_is_refused():
    with pytest.raises(UserError, match="for LunarLander only, and this is CartPoleEnv"):
        wrapped("CartPole-v1", {"name": "lunar_physics", "gravity": -9})
    with pytest.raises(ValidationError, match="at least one range"):
        lander()
    with pytest.raises(ValidationError, match="within -12 and 0"):
        lander(gravity=[-10, 1])
    with pytest.raises(ValidationError, match="must not be negative"):
        lander(main_engine=-1.0)
