import numpy as np
import pytest

from spotter.types import UserError
from tests.envs.helpers import config, vector, wrapped


def masked(kind, valid, mask=None):
    kwargs = {"kind": kind, "mask": mask}
    return wrapped("Buttons-v0", {"name": "action_mask", "valid": valid}, kwargs=kwargs)


def test_the_mask_is_there_at_reset_and_at_every_step():
    env = masked("discrete", [0, 3])
    masks = [env.reset(seed=1)[1]["action_mask"], env.step(0)[4]["action_mask"]]
    assert [mask.tolist() for mask in masks] == [[True, False, False, True, False]] * 2
    masks[0][:] = False
    assert env.step(0)[4]["action_mask"].any(), "what was handed out is a copy"


def test_it_is_joined_with_the_environments_own():
    env = masked("discrete", [0, 3], mask=[0, 1, 0, 1, 1])
    assert env.reset(seed=1)[1]["action_mask"].tolist() == [False, False, False, True, False]


@pytest.mark.parametrize(
    ("kind", "valid", "mask"),
    [
        ("multi_discrete", [1, 2, 4], [0, 1, 1, 0, 1]),
        ("multi_binary", [2], [0, 0, 1]),
    ],
)
def test_other_discrete_spaces_use_flat_entries(kind, valid, mask):
    env = masked(kind, valid)
    assert env.reset(seed=1)[1]["action_mask"].astype(int).tolist() == mask


def test_it_reaches_the_policy():
    env = config("CartPole-v1", wrappers=[{"name": "action_mask", "valid": [1]}])
    with vector(env, count=1) as vec:
        assert vec.reset([1]).mask.tolist() == [[False, True]]
        vec.step(np.array([1]))
        assert vec.buffers.mask.tolist() == [[False, True]]


def test_nonsense_is_refused():
    with pytest.raises(UserError, match="5 is not one of the actions 0 to 4"):
        masked("discrete", [5])
    with pytest.raises(UserError, match="no choice for part 1"):
        masked("multi_discrete", [0, 1])
    with pytest.raises(UserError, match="action_mask needs discrete actions"):
        masked("box", [0])
