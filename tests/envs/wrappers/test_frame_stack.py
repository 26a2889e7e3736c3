import numpy as np
import pytest

from spotter.types import UserError
from tests.envs.helpers import wrapped


def stack(env_id, count=3, padding="reset", **kwargs):
    return wrapped(
        env_id, {"name": "frame_stack", "count": count, "padding": padding}, kwargs=kwargs
    )


def test_vectors_are_joined_oldest_first():
    env = stack("Scripted-v0", lengths=[9])
    env.reset(seed=1)
    env.step(0)
    obs, *_ = env.step(2)
    assert obs.shape == env.observation_space.shape == (12,)
    assert obs.reshape(3, 4)[:, 2:].tolist() == [[0, -1], [1, 0], [2, 2]]


@pytest.mark.parametrize(("padding", "first"), [("reset", [5, 5, 5]), ("zero", [0, 0, 5])])
def test_padding_of_the_first_stack(padding, first):
    env = stack("Picture-v0", padding=padding, shape=[8, 6])
    for _ in range(2):
        obs, _ = env.reset()
        assert obs[0, 0].tolist() == first
        env.step(0)


@pytest.mark.parametrize(
    ("shape", "stacked"),
    [([8, 6], (8, 6, 3)), ([8, 6, 2], (8, 6, 6)), ([2, 8, 6], (6, 8, 6))],
)
def test_images_are_stacked_along_their_channels(shape, stacked):
    env = stack("Picture-v0", shape=shape)
    env.reset()
    obs, *_ = env.step(0)
    assert obs.shape == env.observation_space.shape == stacked
    assert obs.dtype == env.observation_space.dtype == np.uint8
    assert env.observation_space.contains(obs)
    channels = obs[:, 0, 0] if len(shape) == 3 and shape[0] == 2 else obs[0, 0]
    assert sorted(set(channels.tolist())) == [5, 15] and channels[-1] == 15


def test_zero_padding_stays_inside_the_space():
    env = stack("MountainCar-v0", padding="zero")
    assert env.observation_space.contains(env.reset(seed=1)[0])


def test_stacks_handed_out_do_not_change_later():
    env = stack("Picture-v0", shape=[8, 6])
    first, _ = env.reset()
    kept = first.copy()
    env.step(0)
    assert (first == kept).all()


def test_a_discrete_observation_is_refused():
    with pytest.raises(UserError, match="frame_stack needs a Box observation"):
        stack("Taxi-v4")
