import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces as gs

from spotter.envs.wrappers import frame_stack
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


def test_choices_are_stacked_as_several_choices():
    env = stack("Taxi-v4")
    first, _ = env.reset(seed=1)
    assert len(set(first.tolist())) == 1 and env.observation_space.nvec.tolist() == [500] * 3
    seen = [int(first[-1])]
    for action in (0, 1, 2, 3):
        obs, *_ = env.step(action)
        seen.append(int(obs[-1]))
        assert env.observation_space.contains(obs)
        assert obs.tolist() == ([seen[0]] * 3 + seen[1:])[-3:]
    again, _ = env.reset(seed=1)
    assert again.tolist() == first.tolist(), "nothing of the last episode is left"


def test_each_part_of_a_dict_is_a_stack(make_nested):
    env = frame_stack.wrap(frame_stack.Config(name="frame_stack", count=2), make_nested())
    env.reset(seed=1)
    obs, *_ = env.step(env.action_space.sample())
    assert env.observation_space.contains(obs)
    assert obs["near"].tolist() == [5, 0, 5, 1] and obs["far"]["number"].tolist() == [0.0, 1.0]


@pytest.fixture
def make_nested():
    class Nested(gym.Env):
        observation_space = gs.Dict(
            near=gs.MultiDiscrete([9, 9]), far=gs.Dict(number=gs.Box(0, 9, (1,), np.float32))
        )
        action_space = gs.Discrete(2)

        def reset(self, *, seed=None, options=None):
            self.time = 0
            return self.seen(), {}

        def step(self, action):
            self.time += 1
            return self.seen(), 0.0, False, False, {}

        def seen(self):
            number = np.array([self.time], np.float32)
            return {"near": np.array([5, self.time]), "far": {"number": number}}

    return Nested


def test_what_cannot_be_stacked_is_refused():
    with pytest.raises(UserError, match=r"padding: zero is for Box observations"):
        stack("Taxi-v4", padding="zero")
    with pytest.raises(UserError, match="needs Box, Discrete or MultiDiscrete observations"):
        stack("Blackjack-v1")
