"""The shared mathematics against hand-computed numbers."""

import math

import pytest
import torch

from spotter.engines import functional as F


def column(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype).unsqueeze(-1)


def test_gae_matches_a_hand_computation():
    reward, value = column(1.0, 2.0, 3.0), column(0.5, 1.0, 1.5)
    next_value = column(1.0, 1.5, 4.0)
    ends = column(False, False, False, dtype=torch.bool)
    advantage = F.gae(reward, value, next_value, ends, gamma=0.9, lam=0.5)
    d0, d1, d2 = 1 + 0.9 * 1.0 - 0.5, 2 + 0.9 * 1.5 - 1.0, 3 + 0.9 * 4.0 - 1.5
    a2 = d2
    a1 = d1 + 0.45 * a2
    a0 = d0 + 0.45 * a1
    assert advantage.flatten().tolist() == pytest.approx([a0, a1, a2])


def test_p04_the_trace_is_cut_at_every_episode_end():
    value, next_value = torch.zeros(4, 1), torch.zeros(4, 1)
    ends = column(False, True, False, False, dtype=torch.bool)
    base = F.gae(column(1.0, 1.0, 1.0, 1.0), value, next_value, ends, 0.99, 0.95)
    changed = F.gae(column(1.0, 1.0, 50.0, -9.0), value, next_value, ends, 0.99, 0.95)
    assert torch.equal(base[:2], changed[:2])
    assert not torch.equal(base[2:], changed[2:])


def test_discounted_returns_bootstrap_only_at_ends():
    reward = column(1.0, 1.0, 1.0)
    next_value = column(100.0, 7.0, 5.0)
    ends = column(False, True, False, dtype=torch.bool)
    returns = F.discounted_returns(reward, next_value, ends, 0.5)
    tail = 1 + 0.5 * 5.0
    assert returns.flatten().tolist() == pytest.approx([1 + 0.5 * (1 + 3.5), 1 + 3.5, tail])


def test_episode_returns_repeat_the_first_reward_to_go():
    to_go = column(5.0, 3.0, 1.0, 9.0, 4.0)
    ends = column(False, False, True, False, True, dtype=torch.bool)
    whole = F.episode_returns(to_go, ends)
    assert whole.flatten().tolist() == [5.0, 5.0, 5.0, 9.0, 9.0]


def test_p29_standardizing_one_sample_is_zero_not_nan():
    assert F.standardize(torch.tensor([3.0])).tolist() == [0.0]
    many = F.standardize(torch.tensor([1.0, 2.0, 3.0, 10.0]))
    assert many.mean().item() == pytest.approx(0, abs=1e-6)
    assert many.std().item() == pytest.approx(1, abs=1e-6)
    assert F.standardize(torch.full((5,), 2.0)).tolist() == [0.0] * 5


def test_explained_variance():
    target = torch.tensor([1.0, 2.0, 3.0])
    assert F.explained_variance(target, target).item() == pytest.approx(1)
    assert F.explained_variance(torch.zeros(3), target).item() == pytest.approx(0)
    assert F.explained_variance(torch.zeros(3), torch.ones(3)).item() == 0.0
    assert F.explained_variance(torch.zeros(1), torch.ones(1)).item() == 0.0


def test_dead_units_are_counted_after_the_activation():
    relu = torch.tensor([[0.0, 1.0], [0.0, 2.0]])
    saturated_tanh = torch.tensor([[1.0, 0.1], [1.0, -0.3]])
    assert F.dead_fraction([relu, saturated_tanh]).item() == 0.5
    assert F.dead_fraction([]).item() == 0.0


def test_norm_is_over_all_elements():
    assert F.norm([torch.tensor([3.0]), torch.tensor([[4.0]])]).item() == pytest.approx(5)
    assert math.isclose(F.norm([]).item(), 0)
