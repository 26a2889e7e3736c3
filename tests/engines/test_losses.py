"""The terms of objectives, on arrays and tensors: known numbers, and slopes equal to autograd's."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spotter.engines import losses

KINDS = pytest.mark.parametrize(
    "numbers", [torch.tensor, lambda x: np.array(x, np.float32)], ids=["tensor", "array"]
)


def near(value):
    return pytest.approx(value, rel=1e-6)


def both(term):
    """Loss and slope of a single sample."""
    return [float(term.loss), float(term.slope[0])]


@KINDS
def test_the_surrogate_ignores_gains_beyond_the_clip_but_not_losses(numbers):
    ratio = numbers([1.5])
    assert both(losses.clipped_surrogate(ratio, numbers([1.0]), 0.2)) == near([-1.2, 0])
    assert both(losses.clipped_surrogate(ratio, numbers([-1.0]), 0.2)) == near([1.5, 1.5])


@KINDS
def test_value_loss_variants(numbers):
    value, target = numbers([3.0]), numbers([0.0])
    assert both(losses.value_loss(value, target)) == near([4.5, 3])
    assert both(losses.value_loss(value, target, huber_delta=1.0)) == near([2.5, 1])
    near_zero = losses.value_loss(value / 6, target, huber_delta=1.0)
    assert both(near_zero) == near([0.125, 0.5])
    held = losses.value_loss(value, target, old_value=numbers([5.0]), clip=0.5)
    assert both(held) == near([0.5 * 4.5**2, 0]), "the worse estimate counts"


def test_huber_equals_torch():
    value, target = torch.randn(64), torch.randn(64) * 3
    ours = losses.value_loss(value, target, huber_delta=0.7).loss
    theirs = torch.nn.functional.huber_loss(value, target, delta=0.7)
    assert ours.item() == pytest.approx(theirs.item())


@KINDS
def test_kl_estimates_agree_with_the_true_kl(numbers):
    old, new = np.array([0.2, 0.3, 0.5]), np.array([0.25, 0.35, 0.4])
    taken = np.random.default_rng(0).choice(3, 200_000, p=old)
    shift = losses.policy_shift(numbers((np.log(new) - np.log(old))[taken]), clip=0.18)
    true_kl = (old * np.log(old / new)).sum()
    assert float(shift["policy/kl"]) == pytest.approx(true_kl, abs=2e-3)
    assert float(shift["policy/approx_kl"]) == pytest.approx(true_kl, abs=1e-3)
    assert float(shift["policy/clip_fraction"]) == pytest.approx(0.7, abs=0.01)


@KINDS
def test_an_objective_weighs_its_terms(numbers):
    policy = losses.Term(numbers(1.0), numbers([0.5, 0.25]))
    value = losses.Term(numbers(4.0), numbers([2.0, -2.0]))
    terms, slopes = losses.objective(
        policy, value, numbers([0.5, 1.5]), value_weight=0.5, entropy_weight=0.1, metrics={"x": 7}
    )
    assert {name: float(term) for name, term in terms.items()} == near(
        {
            "loss/policy": 1.0,
            "loss/value": 2.0,
            "loss/entropy": -0.1,
            "loss/total": 2.9,
            "policy/entropy": 1.0,
            "x": 7.0,
        }
    )
    assert slopes.log_prob is policy.slope
    assert slopes.entropy == -0.1
    assert slopes.raw_value.tolist() == [1.0, -1.0]


@KINDS
def test_without_a_critic_there_is_no_value_loss(numbers):
    policy = losses.Term(numbers(1.0), numbers([0.5]))
    terms, slopes = losses.objective(
        policy, None, numbers([0.5]), value_weight=0.5, entropy_weight=0.0
    )
    assert "loss/value" not in terms
    assert slopes.raw_value is None


def noise(seed, count):
    return torch.randn(count, 30, generator=torch.Generator().manual_seed(seed))


def assert_slope_is_the_derivative(term, variable):
    (expected,) = torch.autograd.grad(term.loss, variable)
    torch.testing.assert_close(term.slope, expected, rtol=1e-4, atol=1e-6)


def test_policy_gradient_slope():
    log_prob, advantage = noise(0, 2)
    log_prob.requires_grad_()
    assert_slope_is_the_derivative(losses.policy_gradient(log_prob, advantage), log_prob)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**20), clip=st.floats(0.01, 0.5), size=st.floats(0.01, 2.0))
def test_surrogate_slope(seed, clip, size):
    log_ratio, advantage = noise(seed, 2)
    log_ratio = (size * log_ratio).requires_grad_()
    term = losses.clipped_surrogate(losses.exp(log_ratio), advantage, clip)
    assert_slope_is_the_derivative(term, log_ratio)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    huber=st.none() | st.floats(0.1, 2.0),
    clip=st.none() | st.floats(0.05, 1.0),
)
def test_value_slope(seed, huber, clip):
    value, target, old = noise(seed, 3)
    value.requires_grad_()
    term = losses.value_loss(value, target, huber_delta=huber, old_value=old, clip=clip)
    assert_slope_is_the_derivative(term, value)


def test_not_a_number_is_passed_on():
    term = losses.clipped_surrogate(torch.ones(2), torch.tensor([torch.nan, 1.0]), 0.2)
    assert term.loss.isnan()
    assert term.slope.isnan().tolist() == [True, False]
