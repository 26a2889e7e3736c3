"""The environments alone, learning alone."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from spotter.bench.limits import Limits, Meter, random_actions
from spotter.bench.measure import Trained
from spotter.types import ActionSpec


def test_the_bound_of_one_after_the_other():
    limits = Limits(env_rate=3000.0, learn_rate=1000.0, random_steps=100, rewards=4)
    assert limits.bound == pytest.approx(750.0)
    assert limits.steps_between_rewards == 25


def test_no_reward_has_no_distance():
    assert Limits(1.0, 1.0, 100, 0).steps_between_rewards is None


def _vector(spec: ActionSpec, mask=None, count=5):
    return SimpleNamespace(
        spaces=SimpleNamespace(action=spec), count=count, buffers=SimpleNamespace(mask=mask)
    )


@pytest.mark.parametrize(
    ("spec", "shape", "high"),
    [
        (ActionSpec("discrete", (), (3,)), (5,), [3]),
        (ActionSpec("multi_discrete", (2,), (2, 4)), (5, 2), [2, 4]),
        (ActionSpec("binary", (4,)), (5, 4), [2]),
    ],
)
def test_random_actions_are_in_the_space(spec, shape, high):
    actions = random_actions(_vector(spec))
    drawn = np.array([next(actions) for _ in range(50)])
    assert drawn.shape == (50, *shape)
    assert drawn.min() == 0
    assert (drawn < np.array(high)).all()
    assert drawn.max() == max(high) - 1


def test_box_actions_fill_the_unit_range():
    actions = random_actions(_vector(ActionSpec("box", (2,))))
    drawn = np.array([next(actions) for _ in range(50)])
    assert drawn.dtype == np.float32
    assert -1 <= drawn.min() < -0.9 < 0.9 < drawn.max() <= 1


def test_p32_random_actions_keep_to_the_mask():
    mask = np.array([[True, False, True, False, False, True, True]] * 5)
    actions = random_actions(_vector(ActionSpec("multi_discrete", (2,), (3, 4)), mask))
    drawn = np.concatenate([next(actions) for _ in range(50)])
    assert set(drawn[:, 0]) == {0, 2}
    assert set(drawn[:, 1]) == {2, 3}
    single = random_actions(_vector(ActionSpec("discrete", (), (7,)), mask))
    drawn = np.concatenate([next(single) for _ in range(50)])
    assert set(drawn) == {0, 2, 5, 6}


@pytest.mark.parametrize("algo", ["ppo", "reinforce"])
def test_both_limits_of_a_real_training(make_config, algo):
    with Trained(make_config("CartPole-v1", algo)) as subject:
        meter = Meter(subject)
        meter.measure(0.02)
        limits = meter.result()
        assert limits.env_rate > limits.bound
        assert limits.learn_rate > limits.bound
        assert limits.rewards == limits.random_steps > 0, "CartPole pays in every step"


def test_learning_again_starts_from_the_same_weights(make_config):
    """Else `target_kl` would end each further update after its first minibatch."""
    with Trained(make_config("CartPole-v1")) as subject:
        meter = Meter(subject)
        policy = subject.training.policy
        meter.measure(0.0)
        once = [x.clone() for x in policy.parameters()]
        meter.measure(0.0)
        twice = list(policy.parameters())
        assert all(torch.allclose(x, y) for x, y in zip(once, twice, strict=True))
