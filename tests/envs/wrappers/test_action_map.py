import numpy as np
import pytest
from gymnasium import spaces as gs

from spotter.types import UserError
from tests.envs.helpers import config, vector, wrapped


def mapped(kind, mapping, mask=None):
    kwargs = {"kind": kind, "mask": mask}
    return wrapped("Buttons-v0", {"name": "action_map", "mapping": mapping}, kwargs=kwargs)


@pytest.mark.parametrize(
    ("kind", "mapping", "seen"),
    [
        ("discrete", [4, 0, 2], [[4, 0, 0], [0, 0, 0], [2, 0, 0]]),
        ("shifted", [14, 10], [[14, 0, 0], [10, 0, 0]]),
        ("multi_discrete", [[1, 2], [0, 1]], [[1, 2, 0], [0, 1, 0]]),
        ("multi_binary", [[1, 0, 1], [0, 0, 0]], [[1, 0, 1], [0, 0, 0]]),
    ],
)
def test_new_actions_are_old_ones(kind, mapping, seen):
    env = mapped(kind, mapping)
    assert env.action_space == gs.Discrete(len(mapping))
    env.reset(seed=1)
    assert [env.step(action)[0].tolist() for action in range(len(mapping))] == seen


@pytest.mark.parametrize(
    ("kind", "mapping", "mask", "translated"),
    [
        ("discrete", [4, 0, 2], [1, 1, 0, 0, 1], [True, True, False]),
        ("shifted", [14, 12, 10], [1, 1, 0, 0, 1], [True, False, True]),
        ("multi_discrete", [[1, 2], [0, 1], [1, 0]], [0, 1, 1, 1, 0], [False, False, True]),
        ("multi_binary", [[1, 0, 1], [0, 0, 0], [0, 1, 0]], [1, 0, 1], [True, True, False]),
    ],
)
def test_masks_are_translated(kind, mapping, mask, translated):
    env = mapped(kind, mapping, mask)
    _, at_reset = env.reset(seed=1)
    *_, at_step = env.step(1)
    assert at_reset["action_mask"].tolist() == at_step["action_mask"].tolist() == translated


def test_a_translated_mask_fits_the_policy():
    taxi = config("Taxi-v4", wrappers=[{"name": "action_map", "mapping": [0, 1, 2, 3, 4]}])
    with vector(taxi, count=1) as vec:
        vec.reset([1])
        assert vec.buffers.mask.shape == (1, 5)


@pytest.mark.parametrize(
    ("kind", "mapping", "sentence"),
    [
        ("discrete", [0, 5], "action_map: 5 is not an action of Discrete"),
        ("discrete", [[0]], r"action_map: \[0\] is not an action of Discrete"),
        ("multi_binary", [1], "action_map: 1 is not an action of MultiBinary"),
        ("multi_binary", [[1, 2, 0]], r"action_map: \[1, 2, 0\] is not an action of MultiBinary"),
        ("multi_discrete", [[1]], r"action_map: \[1\] is not an action of MultiDiscrete"),
        ("multi_discrete", [[0, 3]], r"action_map: \[0, 3\] is not an action of MultiDiscrete"),
        ("box", [0], "action_map needs discrete actions"),
    ],
)
def test_what_is_no_action_is_refused(kind, mapping, sentence):
    with pytest.raises(UserError, match=sentence):
        mapped(kind, mapping)


def test_the_old_action_is_not_shared_between_steps():
    env = mapped("multi_binary", [[1, 0, 1]])
    env.reset(seed=1)
    env.step(0)
    assert env.unwrapped.last.dtype == np.int8
