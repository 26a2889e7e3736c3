import numpy as np
import pytest
from pydantic import ValidationError

from spotter.types import UserError
from tests.envs.helpers import wrapped


def test_rewards_add_up_over_the_skipped_frames():
    env = wrapped("Constant-v0", {"name": "frame_skip", "skip": 4}, kwargs={"reward": 7.0})
    env.reset(seed=1)
    obs, reward, *_ = env.step(0)
    assert obs.tolist() == [4] and reward == 28


def test_the_end_of_an_episode_stops_the_repetition():
    env = wrapped("Constant-v0", {"name": "frame_skip", "skip": 4}, kwargs={"length": 6})
    env.reset(seed=1)
    env.step(0)
    obs, reward, terminated, _, _ = env.step(0)
    assert (obs.tolist(), reward, terminated) == ([6], 2, True)


def test_a_range_is_drawn_anew_for_each_decision_and_repeats_with_the_seed():
    env = wrapped("Constant-v0", {"name": "frame_skip", "skip": [2, 5]})

    def frames():
        env.reset(seed=3)
        return [env.step(0)[1] for _ in range(200)]

    first = frames()
    assert set(first) == {2, 3, 4, 5}
    assert frames() == first


@pytest.mark.parametrize("skip", [1, 2, 3, [1, 4]])
def test_pooling_keeps_what_flickers_every_other_frame(skip):
    """The last two raw frames, even if they belong to two decisions."""
    env = wrapped(
        "Picture-v0", {"name": "frame_skip", "skip": skip, "pool": True}, kwargs={"flickers": True}
    )
    env.reset(seed=1)
    for _ in range(6):
        obs, *_ = env.step(0)
        assert obs.min() > 0


def test_pooling_is_off_unless_asked_for():
    env = wrapped("Picture-v0", {"name": "frame_skip", "skip": 3}, kwargs={"flickers": True})
    env.reset(seed=1)
    assert env.step(0)[0].max() == 0


def test_pooling_starts_afresh_with_each_episode():
    env = wrapped("Picture-v0", {"name": "frame_skip", "skip": 1, "pool": True})
    env.reset()
    for _ in range(5):
        env.step(0)
    env.reset()
    assert np.unique(env.step(0)[0]).tolist() == [15]


def test_pooling_needs_numbers():
    with pytest.raises(UserError, match="frame_skip with pool needs a Box"):
        wrapped("Taxi-v4", {"name": "frame_skip", "pool": True})


@pytest.mark.parametrize("skip", [0, [0, 3], [4, 2], [1, 2, 3], 2.5])
def test_bad_ranges_are_refused(skip):
    with pytest.raises(ValidationError):
        wrapped("Constant-v0", {"name": "frame_skip", "skip": skip})
