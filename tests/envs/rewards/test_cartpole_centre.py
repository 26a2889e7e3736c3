import math

import numpy as np
import pytest
from pydantic import ValidationError

from spotter.types import UserError
from tests.envs.helpers import config, signal_vector, zeros


def potential(obs, **fields):
    env = config("CartPole-v1", "classic")
    with signal_vector(env, source="cartpole_centre", **fields) as vec:
        assert vec.signal_kinds == ("potential",)
        signal = vec._slices[0].instances[0].meter.signals[0]
        assert signal.start(np.array(obs), {}) == signal.step(np.array(obs), 0, 1.0, {})
        return signal.start(np.array(obs), {})


FALLING = 12 * 2 * math.pi / 360


@pytest.mark.parametrize(
    ("obs", "fields", "phi"),
    [
        ([0, 5, 0, 5], {}, 1),
        ([2.4, 0, 0, 0], {}, 0.5),
        ([0, 0, -FALLING, 0], {}, 0.5),
        ([-9, 0, 9, 0], {}, 0),
        ([1.2, 0, FALLING, 0], {"centre": 1, "upright": 0}, 0.5),
        ([1.2, 0, 0, 0], {"centre": 1, "upright": 3}, 0.875),
    ],
)
def test_potential_is_one_in_the_middle_and_zero_at_the_edge(obs, fields, phi):
    assert potential(obs, **fields) == pytest.approx(phi)


def test_it_is_reported_at_the_start_and_at_every_step():
    with signal_vector(config("CartPole-v1"), source="cartpole_centre") as vec:
        vec.reset([1])
        assert 0.9 < vec.buffers.signals_start[0, 0] < 1
        vec.step(zeros(vec))
        assert 0.9 < vec.buffers.signals[0, 0] < 1


def test_nonsense_is_refused():
    with pytest.raises(UserError, match="for CartPole only, and this is AcrobotEnv"):
        signal_vector(config("Acrobot-v1"), source="cartpole_centre")
    with pytest.raises(ValidationError, match="must not both be 0"):
        signal_vector(config("CartPole-v1"), source="cartpole_centre", centre=0, upright=0)
