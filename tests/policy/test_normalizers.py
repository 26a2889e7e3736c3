"""Statistics that belong to the policy."""

import math

import pytest
import torch

from spotter.config import PolicyConfig
from spotter.policy.actor_critic import Policy
from spotter.policy.normalizers import BoundsNorm, RunningNorm, ValueNorm
from spotter.types import ActionSpec, Leaf, Spaces

VECTOR = Leaf("vector", (3,), "float32", low=(-2.0, 0.0, -float("inf")), high=(2.0, 10.0, 5.0))


def test_running_statistics_equal_those_of_all_the_data():
    data = torch.randn(1000, 3, dtype=torch.float64) * torch.tensor([1.0, 50.0, 1e-3]) + 7
    norm = RunningNorm((3,))
    for chunk in data.split(170):
        norm.update(chunk)
    torch.testing.assert_close(norm.mean, data.mean(0).float())
    torch.testing.assert_close(norm.var, data.var(0, correction=0).float())
    assert int(norm.count) == 1000
    out = norm(data.float())
    assert out.mean(0).abs().max() < 0.01
    assert (out.std(0) - 1).abs().max() < 0.01


def test_running_output_is_clipped():
    norm = RunningNorm((1,))
    norm.update(torch.zeros(10, 1))
    assert norm(torch.tensor([[1e9]])).item() == 10.0


def test_bounds_map_to_unit_range_and_leave_unbounded_alone():
    norm = BoundsNorm(VECTOR)
    out = norm(torch.tensor([[2.0, 0.0, 123.0], [-2.0, 10.0, -5.0]]))
    assert out.tolist() == [[1.0, -1.0, 123.0], [-1.0, 1.0, -5.0]]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ((0.0, 0.0), (1.0, 1.0), BoundsNorm),
        ((-1.0, 0.0), (1.0, 0.5), BoundsNorm),
        ((0.0, 0.0), (1.0, 2.0), RunningNorm),
        ((-math.inf, 0.0), (1.0, 1.0), RunningNorm),
        ((), (), RunningNorm),
    ],
)
def test_auto_trusts_bounds_within_one_and_measures_everything_else(low, high, expected):
    leaf = Leaf("vector", (2,), "float32", low=low, high=high)
    spaces = Spaces({"rays": leaf, "far": VECTOR}, ActionSpec("discrete", (), (2,)))
    inputs = Policy(spaces, PolicyConfig(normalize_obs="auto")).inputs
    assert type(inputs.norm("rays")) is expected
    assert type(inputs.norm("far")) is RunningNorm


def test_popart_keeps_predictions_while_statistics_move():
    head = torch.nn.Linear(4, 1)
    norm = ValueNorm(head)
    features = torch.randn(20, 4)
    before = norm.restore(head(features))
    for scale in (1.0, 100.0, 1e4):
        norm.update(torch.randn(50) * scale + scale)
        torch.testing.assert_close(norm.restore(head(features)), before, rtol=1e-3, atol=1e-2)
    assert norm.std > 10


def test_popart_targets_become_standard():
    norm = ValueNorm(torch.nn.Linear(4, 1))
    targets = torch.randn(5000) * 30 + 200
    norm.update(targets)
    normalized = norm.normalize(targets)
    assert abs(normalized.mean().item()) < 0.05
    assert abs(normalized.std().item() - 1) < 0.05


def test_p15_acting_never_moves_the_statistics():
    spaces = Spaces({"obs": VECTOR}, ActionSpec("discrete", (), (2,)))
    policy = Policy(spaces, PolicyConfig(normalize_obs="running", normalize_values=True))
    before = {name: buffer.clone() for name, buffer in policy.named_buffers()}
    assert before, "the statistics are part of the policy's state"
    for _ in range(3):
        policy.act({"obs": torch.randn(8, 3)})
        policy.value({"obs": torch.randn(8, 3)})
    assert all(torch.equal(before[name], now) for name, now in policy.named_buffers())
    policy.observe({"obs": torch.randn(8, 3) + 5})
    assert any(not torch.equal(before[name], now) for name, now in policy.named_buffers())
