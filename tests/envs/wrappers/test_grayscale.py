import numpy as np
import pytest

from spotter.types import UserError
from tests.envs.helpers import wrapped


def test_colours_are_weighed_as_the_eye_does():
    env = wrapped("Picture-v0", {"name": "grayscale"})
    colours = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]], np.uint8)
    gray = env.observation(colours)
    assert gray.tolist() == [[76, 150], [29, 255]]
    obs, _ = env.reset()
    assert obs.shape == env.observation_space.shape == (6, 4)
    assert env.observation_space.contains(obs) and (obs == 5).all()


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [("CartPole-v1", {}), ("Picture-v0", {"shape": [8, 6]}), ("Picture-v0", {"shape": [8, 6, 4]})],
)
def test_anything_but_rgb_is_refused(env_id, kwargs):
    with pytest.raises(UserError, match="grayscale needs"):
        wrapped(env_id, {"name": "grayscale"}, kwargs=kwargs)
