"""The state of a policy, and what an actor returns."""

import numpy as np
import torch

from spotter.policy.actor import Acted, cleared


def test_a_state_is_zero_where_an_episode_begins():
    state = (torch.ones(3, 2), torch.full((3, 1, 4), 5.0))
    terminated, truncated = np.array([True, False, False]), np.array([False, False, True])
    after = cleared(state, terminated, truncated)
    assert after[0].tolist() == [[0, 0], [1, 1], [0, 0]]
    assert after[1][:, 0, 0].tolist() == [0, 5, 0]
    assert state[0].all(), "what was given stays as it was"


def test_an_empty_state_is_left_alone():
    assert cleared((), np.array([True])) == ()


def test_actions_come_to_the_host():
    array = np.arange(3)
    assert Acted(array, None, None).host_action() is array
    tensor = Acted(torch.arange(3), None, None).host_action()
    assert isinstance(tensor, np.ndarray) and tensor.tolist() == [0, 1, 2]
