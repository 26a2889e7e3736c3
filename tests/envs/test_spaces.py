"""Spaces as leaves: every kind of observation and action arrives as the environment meant it."""

import numpy as np
import pytest
from gymnasium import spaces as gs
from hypothesis import given
from hypothesis import strategies as st

from spotter.envs.spaces import ActionCodec, ObsCodec, describe, encode_mask
from tests.envs.helpers import config, vector


def test_nested_spaces_become_paths():
    space = gs.Dict(
        {
            "camera": gs.Box(0, 255, (4, 6, 3), np.uint8),
            "body": gs.Tuple((gs.Discrete(5, start=2), gs.MultiBinary(3))),
            "dial": gs.MultiDiscrete([2, 4]),
        }
    )
    leaves = describe(space, gs.Discrete(2)).observation
    assert {path: (leaf.kind, leaf.shape) for path, leaf in leaves.items()} == {
        "camera": ("image", (3, 4, 6)),
        "body/0": ("discrete", ()),
        "body/1": ("binary", (3,)),
        "dial": ("multi_discrete", (2,)),
    }
    buffers = {path: np.zeros((1, *leaf.shape), leaf.dtype) for path, leaf in leaves.items()}
    picture = np.arange(72, dtype=np.uint8).reshape(4, 6, 3)
    obs = {"camera": picture, "body": (6, np.array([1, 0, 1])), "dial": np.array([1, 3])}
    ObsCodec(space).write(obs, buffers, 0)
    assert (buffers["camera"][0] == np.moveaxis(picture, -1, 0)).all()
    assert buffers["body/0"][0] == 4, "counted from the space's start"
    assert buffers["body/1"][0].tolist() == [1, 0, 1]
    assert buffers["dial"][0].tolist() == [1, 3]


@pytest.mark.parametrize(
    ("kind", "policy", "expected"),
    [
        ("discrete", 3, [3, 0, 0]),
        ("shifted", 3, [13, 0, 0]),
        ("multi_discrete", [1, 2], [1, 2, 0]),
        ("multi_binary", [1, 0, 1], [1, 0, 1]),
        ("box", [-1, 1], [-2, 4, 0]),
        ("box", [0, 9], [1, 4, 0]),
    ],
)
def test_every_kind_of_action_reaches_the_environment(kind, policy, expected):
    with vector(config("Buttons-v0", kwargs={"kind": kind}), count=1) as vec:
        vec.reset([1])
        vec.step(np.array([policy]))
        assert vec.buffers.obs["obs"][0].tolist() == expected


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2))
def test_box_actions_always_land_inside_the_space(action):
    low, high = np.array([-2, 0], np.float32), np.array([4, 0.5], np.float32)
    space = gs.Box(low, high)
    assert space.contains(ActionCodec(space).decode(np.array(action)))


def test_masks_of_several_parts_are_joined():
    joined = encode_mask((np.array([1, 0]), np.array([0, 1, 1])))
    assert joined.tolist() == [True, False, False, True, True]
