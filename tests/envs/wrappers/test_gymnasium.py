import pytest

from spotter.types import UserError
from tests.envs.helpers import wrapped


def foreign(env_id, wrapper, **kwargs):
    return wrapped(env_id, {"name": "gymnasium", "wrapper": wrapper, "kwargs": kwargs})


def test_gymnasiums_own_wrappers_are_applied_with_their_arguments():
    env = foreign("Constant-v0", "ClipReward", min_reward=-0.5, max_reward=0.5)
    env.reset(seed=1)
    assert env.step(0)[1] == 0.5
    assert foreign("CartPole-v1", "TimeAwareObservation").observation_space.shape == (5,)


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(UserError, match="no 'ClipRewards'; did you mean 'ClipReward'"):
        foreign("Constant-v0", "ClipRewards")
    with pytest.raises(UserError, match="no 'vector'"):
        foreign("Constant-v0", "vector")


def test_what_its_constructor_refuses_is_one_sentence():
    with pytest.raises(UserError, match="ClipReward cannot be used with kwargs") as caught:
        foreign("Constant-v0", "ClipReward", maximum=1)
    assert "maximum" in str(caught.value) and "\n" not in str(caught.value)
