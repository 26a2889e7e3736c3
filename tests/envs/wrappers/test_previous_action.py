import pytest

from spotter.types import UserError
from tests.envs.helpers import wrapped


def test_past_actions_follow_the_observation_newest_first():
    env = wrapped("Scripted-v0", {"name": "previous_action", "count": 2}, kwargs={"lengths": [9]})
    obs, _ = env.reset(seed=1)
    assert obs.shape == env.observation_space.shape == (4 + 2 * 3,)
    assert obs[4:].tolist() == [0] * 6
    env.step(2)
    obs, *_ = env.step(1)
    assert obs[:4].tolist() == [1, 0, 2, 1]
    assert obs[4:].tolist() == [0, 1, 0, 0, 0, 1]
    assert env.observation_space.contains(obs)
    assert env.reset()[0][4:].tolist() == [0] * 6


def test_actions_that_do_not_start_at_zero():
    env = wrapped("Buttons-v0", {"name": "previous_action"}, kwargs={"kind": "shifted"})
    env.reset(seed=1)
    assert env.step(14)[0][3:].tolist() == [0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("env_id", "kwargs", "sentence"),
    [
        ("Pendulum-v1", {}, "needs Discrete actions"),
        ("Taxi-v4", {}, "needs a Box observation"),
        ("Picture-v0", {}, "needs a vector observation"),
    ],
)
def test_other_spaces_are_refused(env_id, kwargs, sentence):
    with pytest.raises(UserError, match=f"previous_action {sentence}"):
        wrapped(env_id, {"name": "previous_action"}, kwargs=kwargs)
