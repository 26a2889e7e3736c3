"""Action heads against torch.distributions, with and without masks."""

import math

import pytest
import torch
from torch import distributions as td

from spotter.config import PolicyConfig
from spotter.policy.heads import Bernoulli, Categorical, Head, MultiCategorical, Normal
from spotter.types import ActionSpec

LOGITS = torch.randn(16, 5, generator=torch.Generator().manual_seed(3))


def test_categorical_equals_torch():
    ours, theirs = Categorical(LOGITS), td.Categorical(logits=LOGITS)
    action = theirs.sample()
    torch.testing.assert_close(ours.log_prob(action), theirs.log_prob(action))
    torch.testing.assert_close(ours.entropy(), theirs.entropy())
    assert torch.equal(ours.mode(), LOGITS.argmax(-1))


def test_multi_categorical_sums_its_parts():
    ours = MultiCategorical(LOGITS, (2, 3))
    parts = [td.Categorical(logits=LOGITS[:, :2]), td.Categorical(logits=LOGITS[:, 2:])]
    action = torch.stack([part.sample() for part in parts], -1)
    expected = parts[0].log_prob(action[:, 0]) + parts[1].log_prob(action[:, 1])
    torch.testing.assert_close(ours.log_prob(action), expected)
    torch.testing.assert_close(ours.entropy(), parts[0].entropy() + parts[1].entropy())
    assert ours.sample(None).shape == (16, 2)


def test_bernoulli_equals_torch():
    ours, theirs = Bernoulli(LOGITS), td.Independent(td.Bernoulli(logits=LOGITS), 1)
    action = theirs.sample()
    torch.testing.assert_close(ours.log_prob(action), theirs.log_prob(action))
    torch.testing.assert_close(ours.entropy(), theirs.entropy())
    assert torch.equal(ours.mode(), (LOGITS > 0).long())


def test_normal_equals_torch():
    log_std = torch.linspace(-1, 0.5, 5)
    ours = Normal(LOGITS, log_std, squash=False)
    theirs = td.Independent(td.Normal(LOGITS, log_std.exp()), 1)
    action = theirs.sample()
    torch.testing.assert_close(ours.log_prob(action), theirs.log_prob(action))
    torch.testing.assert_close(ours.entropy(), theirs.entropy())


def test_squashed_normal_equals_torch_and_stays_inside():
    log_std = torch.zeros(5)
    ours = Normal(LOGITS, log_std, squash=True)
    base = td.Normal(LOGITS, log_std.exp())
    theirs = td.Independent(td.TransformedDistribution(base, [td.TanhTransform(cache_size=1)]), 1)
    action = ours.sample(torch.Generator().manual_seed(0))
    assert action.abs().max() <= 1
    inside = action.clamp(-0.999, 0.999)
    torch.testing.assert_close(ours.log_prob(inside), theirs.log_prob(inside), rtol=1e-3, atol=1e-3)
    assert ours.log_prob(torch.ones(16, 5)).isfinite().all()


def test_sampling_follows_the_probabilities():
    probabilities = torch.tensor([0.1, 0.2, 0.7])
    many = Categorical(probabilities.log().expand(200_000, 3))
    counts = torch.bincount(many.sample(torch.Generator().manual_seed(1)), minlength=3) / 200_000
    torch.testing.assert_close(counts, probabilities, atol=5e-3, rtol=0)


def head(kind, shape, nvec=()):
    return Head(8, ActionSpec(kind, shape, nvec), PolicyConfig())


@pytest.mark.parametrize("valid", [1, 3, 5])
def test_p32_masked_entropy_of_k_uniform_actions_is_log_k(valid):
    discrete = head("discrete", (), (5,))
    torch.nn.init.zeros_(discrete.linear.weight)
    mask = torch.zeros(4, 5, dtype=torch.bool)
    mask[:, :valid] = True
    distribution = discrete(torch.randn(4, 8), mask)
    torch.testing.assert_close(distribution.entropy(), torch.full((4,), math.log(valid)))
    theirs = td.Categorical(logits=torch.zeros(4, 5).masked_fill(~mask, -math.inf))
    torch.testing.assert_close(distribution.entropy(), theirs.entropy())


@pytest.mark.parametrize(
    ("made", "width"),
    [
        (head("discrete", (), (4,)), 4),
        (head("multi_discrete", (2,), (2, 2)), 4),
        (head("binary", (4,)), 4),
    ],
)
def test_p32_masked_actions_are_never_taken_and_gradients_stay_finite(made, width):
    mask = torch.tensor([[True, False, True, False]]).expand(512, 4)
    features = torch.randn(512, 8, requires_grad=True)
    distribution = made(features, mask)
    action = distribution.sample(torch.Generator().manual_seed(0))
    if action.dim() == 1:
        assert set(action.tolist()) <= {0, 2}
    elif made._action.kind == "binary":
        assert action[:, [1, 3]].sum() == 0
        assert action[:, [0, 2]].sum() > 0
    else:
        assert action.sum() == 0
    (distribution.log_prob(action).sum() + distribution.entropy().sum()).backward()
    assert features.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in made.parameters())
