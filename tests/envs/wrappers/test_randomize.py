import numpy as np
import pytest
from pydantic import ValidationError

from spotter.types import UserError
from tests.envs.helpers import wrapped


def randomized(env_id, attributes, family="gymnasium", **kwargs):
    wrapper = {"name": "randomize", "attributes": attributes}
    return wrapped(env_id, wrapper, family=family, kwargs=kwargs)


def test_numbers_are_drawn_from_their_range_at_every_reset():
    env = randomized("CartPole-v1", {"gravity": [5, 15], "masspole": 0.3})

    def draws(seed):
        values = []
        for reset_seed in [seed, *[None] * 200]:
            _, info = env.reset(seed=reset_seed)
            values.append(env.unwrapped.gravity)
            assert info["physics"] == {"gravity": values[-1], "masspole": 0.3}
        return values

    first = draws(1)
    assert 5 <= min(first) < 6 and 14 < max(first) <= 15
    assert draws(1) == first and draws(2) != first
    assert env.unwrapped.masspole == 0.3


def test_it_changes_how_the_environment_behaves():
    def after_ten_steps(**attributes):
        env = randomized("CartPole-v1", attributes)
        env.reset(seed=1)
        return [env.step(1)[0] for _ in range(5)][-1]

    assert (after_ten_steps(force_mag=10.0) != after_ten_steps(force_mag=20.0)).any()


def test_switches_are_set_or_tossed():
    env = randomized(
        "LunarLander-v3",
        {"enable_wind": [False, True], "continuous": False, "wind_power": [0, 20]},
        family="box2d",
    )
    tossed = []
    for seed in range(30):
        env.reset(seed=seed)
        tossed.append(env.unwrapped.enable_wind)
        assert env.unwrapped.continuous is False and 0 <= env.unwrapped.wind_power <= 20
    assert set(tossed) == {True, False}


def test_values_are_in_force_before_the_reset():
    env = randomized("LunarLander-v3", {"gravity": -3.0}, family="box2d")
    env.reset(seed=1)
    assert env.unwrapped.world.gravity[1] == -3.0


def test_class_attributes_can_be_set_for_one_copy():
    env, other = randomized("Acrobot-v1", {"LINK_MASS_1": 2.0}), wrapped("Acrobot-v1")
    env.reset(seed=1)
    assert (env.unwrapped.LINK_MASS_1, other.unwrapped.LINK_MASS_1) == (2.0, 1.0)


def test_an_unknown_attribute_is_refused_with_the_nearest():
    with pytest.raises(UserError, match=r"no number or switch called 'gravty'.*'gravity'"):
        randomized("CartPole-v1", {"gravty": 1.0})
    with pytest.raises(UserError, match="called 'action_space'"):
        randomized("CartPole-v1", {"action_space": 1.0})


@pytest.mark.parametrize("value", [[2, 1], [1], "x", [np.inf, np.inf], None])
def test_bad_ranges_are_refused(value):
    with pytest.raises(ValidationError):
        randomized("CartPole-v1", {"gravity": value})
