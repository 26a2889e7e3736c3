import numpy as np
import pytest

from spotter.types import UserError
from tests.envs.helpers import wrapped


def hidden(env_id, *indices):
    return wrapped(env_id, {"name": "hide", "indices": list(indices)})


def test_the_numbers_left_keep_their_order_and_bounds():
    plain, env = wrapped("CartPole-v1"), hidden("CartPole-v1", 3, 1)
    full, _ = plain.reset(seed=5)
    obs, _ = env.reset(seed=5)
    assert obs.tolist() == full[[0, 2]].tolist() and env.observation_space.contains(obs)
    assert env.observation_space.high.tolist() == plain.observation_space.high[[0, 2]].tolist()
    for _ in range(3):
        full, obs = plain.step(1)[0], env.step(1)[0]
        assert np.array_equal(obs, full[[0, 2]])


def test_the_array_of_the_environment_is_not_handed_on():
    env = wrapped("Scripted-v0", {"name": "hide", "indices": [0]}, kwargs={"reuses_array": True})
    first, _ = env.reset(seed=1)
    kept = first.copy()
    env.step(0)
    assert first.tolist() == kept.tolist()


@pytest.mark.parametrize(
    ("env_id", "indices", "sentence"),
    [
        ("CartPole-v1", (4,), r"hide.indices: this observation has no number 4; it has 0 to 3"),
        ("CartPole-v1", (0, 1, 2, 3), r"hide.indices leaves none of the 4 numbers"),
        ("Taxi-v4", (0,), r"hide needs a Box observation"),
        ("Picture-v0", (0,), r"hide needs a vector observation"),
    ],
)
def test_what_cannot_be_hidden_is_refused(env_id, indices, sentence):
    with pytest.raises(UserError, match=sentence):
        hidden(env_id, *indices)
