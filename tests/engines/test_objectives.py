"""Array mathematics against tensor mathematics: the same values and slopes."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spotter.engines import functional as reference
from spotter.engines import objectives as F

pytestmark = pytest.mark.usefixtures("primitives")


def arrays(seed, *shape, count=1):
    draw = np.random.default_rng(seed)
    return [draw.normal(size=shape).astype(np.float32) for _ in range(count)]


def tensors(*values):
    return [torch.from_numpy(value) for value in values]


def check(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["gae", "discounted_returns", "episode_returns"])
def test_recursions(name):
    reward, value, following = arrays(0, 40, 3, count=3)
    ends = np.random.default_rng(1).random((40, 3)) < 0.2
    calls = {
        "gae": (reward, value, following, ends, 0.97, 0.8),
        "discounted_returns": (reward, following, ends, 0.97),
        "episode_returns": (reward, ends),
    }
    given_ = calls[name]
    as_tensors = [torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in given_]
    check(getattr(F, name)(*given_), getattr(reference, name)(*as_tensors))


def test_statistics():
    x, y = arrays(0, 50, count=2)
    a, b = tensors(x, y)
    check(F.standardize(x), reference.standardize(a))
    check(F.explained_variance(x, y), reference.explained_variance(a, b))
    check(F.std(x), reference.std(a))
    for name, value in reference.moments(x=a, y=b).items():
        check(F.moments(x=x, y=y)[name], value)
    for name, value in reference.policy_shift(a * 0.3, 0.2).items():
        check(F.policy_shift(x * np.float32(0.3), 0.2)[name], value)
    layers = [np.c_[x, np.ones(50, np.float32)], np.zeros((50, 3), np.float32)]
    check(F.dead_fraction(layers), reference.dead_fraction(tensors(*layers)))
    assert F.dead_fraction(layers) == 0.8


def test_degenerate_batches_are_never_nan():
    one, same = np.ones(1, np.float32), np.ones(5, np.float32)
    assert F.standardize(one).tolist() == [0.0]
    assert F.standardize(same).tolist() == [0.0] * 5
    assert F.explained_variance(one, one) == 0.0
    assert F.explained_variance(same, same) == 0.0
    assert F.dead_fraction([]) == 0.0


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**20), clip=st.floats(0.01, 0.5), size=st.floats(0.01, 2.0))
def test_clipped_surrogate(seed, clip, size):
    log_ratio, advantage = arrays(seed, 30, count=2)
    ratio = np.exp(log_ratio * np.float32(size))
    found = F.clipped_surrogate(ratio, advantage, clip)
    expected = reference.clipped_surrogate(*tensors(ratio, advantage), clip)
    check(found.loss, expected.loss)
    check(found.slope, expected.slope)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    huber=st.none() | st.floats(0.1, 2.0),
    clip=st.none() | st.floats(0.05, 1.0),
)
def test_value_loss(seed, huber, clip):
    value, target, old = arrays(seed, 30, count=3)
    found = F.value_loss(value, target, huber_delta=huber, old_value=old, clip=clip)
    a, b, c = tensors(value, target, old)
    expected = reference.value_loss(a, b, huber_delta=huber, old_value=c, clip=clip)
    check(found.loss, expected.loss)
    check(found.slope, expected.slope)
