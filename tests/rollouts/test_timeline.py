"""Whole sequences: which samples go together, and what was remembered before each of them."""

import numpy as np
import pytest
import torch

from spotter.rollouts.timeline import Timeline
from spotter.types import UserError

STEPS, COUNT = 6, 4
ENDS = np.zeros((STEPS, COUNT), np.bool_)
ENDS[2, 0] = ENDS[3, 0] = ENDS[5, 1] = ENDS[0, 2] = True
STATE = (torch.arange(1.0, 5.0)[:, None], torch.ones(COUNT, 2, 3))


def timeline(keep=None):
    return Timeline.of(ENDS, None if keep is None else keep.reshape(-1), STATE)


def unrolled(sequences, samples):
    """Samples of every sequence in their order, each with the state it begins with."""
    found = [[] for _ in range(sequences.sizes[0])]
    places = iter(sequences.order.tolist())
    for size in sequences.sizes:
        for i in range(size):
            found[i].append(samples[next(places)])
    return dict(zip(map(tuple, found), sequences.state[0][:, 0].tolist(), strict=True))


def test_sequences_are_cut_where_episodes_begin():
    samples = [(t, env) for t in range(STEPS) for env in range(COUNT)]
    found = unrolled(timeline().sequences(), samples)
    assert found == {
        tuple((t, 3) for t in range(6)): 4.0,
        tuple((t, 1) for t in range(6)): 2.0,
        tuple((t, 2) for t in range(1, 6)): 0.0,
        ((0, 2),): 3.0,
        ((0, 0), (1, 0), (2, 0)): 1.0,
        ((3, 0),): 0.0,
        ((4, 0), (5, 0)): 0.0,
    }
    assert timeline().sequences().state[1].shape == (7, 2, 3)


def test_samples_that_are_left_out_are_in_no_sequence():
    """A step lost to a failed env, and an env that has played its share."""
    keep = np.ones((STEPS, COUNT), np.bool_)
    keep[0, 2] = keep[3, 0] = False
    keep[3:, 1] = False
    samples = [(t, env) for t in range(STEPS) for env in range(COUNT) if keep[t, env]]
    found = unrolled(timeline(keep).sequences(), samples)
    assert found == {
        tuple((t, 3) for t in range(6)): 4.0,
        tuple((t, 2) for t in range(1, 6)): 0.0,
        ((0, 1), (1, 1), (2, 1)): 2.0,
        ((0, 0), (1, 0), (2, 0)): 1.0,
        ((4, 0), (5, 0)): 0.0,
    }


@pytest.mark.parametrize(("size", "envs"), [(6, 1), (12, 2), (24, 4)])
def test_minibatches_hold_every_step_of_some_envs(size, envs):
    whole = timeline()
    parts = list(whole.minibatches(size, torch.Generator().manual_seed(0)))
    assert len(parts) == whole.parts(size) == COUNT // envs
    assert sorted(torch.cat(parts).tolist()) == list(range(STEPS * COUNT))
    for part in parts:
        some = whole.select(part)
        assert len(set(some.env.tolist())) == envs and len(part) == size
    other = list(whole.minibatches(size, torch.Generator().manual_seed(7)))
    assert envs == COUNT or any(a.tolist() != b.tolist() for a, b in zip(parts, other, strict=True))


def test_the_order_of_minibatches_changes_no_state():
    samples = [(t, env) for t in range(STEPS) for env in range(COUNT)]
    expected = unrolled(timeline().sequences(), samples)
    for seed in range(5):
        found = {}
        for part in timeline().minibatches(12, torch.Generator().manual_seed(seed)):
            chosen = [samples[i] for i in part.tolist()]
            found |= unrolled(timeline().select(part).sequences(), chosen)
        assert found == expected


def test_an_env_without_samples_is_in_no_minibatch():
    keep = np.ones((STEPS, COUNT), np.bool_)
    keep[:, 1] = False
    left = timeline(keep)
    parts = list(left.minibatches(6, torch.Generator()))
    assert left.parts(6) == len(parts) == 3 and all(len(part) == 6 for part in parts)


@pytest.mark.parametrize("indices", [[0, 4], [20, 16, 12, 8, 4, 0], [4, 8, 12, 16, 20]], ids=str)
def test_samples_out_of_their_sequence_are_refused(indices):
    with pytest.raises(UserError, match=r"policy.core needs whole sequences"):
        timeline().select(torch.tensor(indices)).sequences()
