import numpy as np
import pytest

from spotter.types import UserError
from tests.envs.helpers import config, signal_vector


def paid(values, kind="discrete"):
    env = config("Buttons-v0", kwargs={"kind": kind})
    with signal_vector(env, source="action_reward", values=values) as vec:
        vec.reset([1])
        amounts = []
        for action in range(len(values)):
            vec.step(np.array([action]))
            amounts.append(vec.buffers.signals[0, 0])
    return amounts


@pytest.mark.parametrize("kind", ["discrete", "shifted"])
def test_every_action_has_its_price(kind):
    assert paid([0, -1, 2.5, 0, 4], kind) == [0, -1, 2.5, 0, 4]


def test_the_values_must_fit_the_actions():
    with pytest.raises(UserError, match="has 2 values, but the environment has 5 actions"):
        paid([1, 2])
    with pytest.raises(UserError, match="needs Discrete actions"):
        paid([1, 2], "box")
