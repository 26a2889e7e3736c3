"""Acting on a CPU: weights in another order are the same weights."""

import pytest
import torch

from spotter.config import PolicyConfig
from spotter.fast.acting import Standing
from spotter.fast.graphs import Actors
from spotter.nets.actor_critic import Policy
from spotter.types import ActionSpec, Leaf, Spaces

IMAGES = Spaces({"obs": Leaf("image", (4, 84, 84), "uint8")}, ActionSpec("discrete", (), (6,)))


def policy(**settings):
    torch.manual_seed(0)
    return Policy(IMAGES, PolicyConfig(**settings))


def acted(by, rows=4):
    obs = {"obs": torch.arange(rows * 4 * 84 * 84).view(rows, 4, 84, 84).mul(7).to(torch.uint8)}
    return by.act(obs, generator=torch.Generator().manual_seed(1))


def same(ours, theirs):
    assert torch.equal(ours.action, theirs.action)
    torch.testing.assert_close(ours.log_prob, theirs.log_prob)
    torch.testing.assert_close(ours.value, theirs.value)


@pytest.mark.parametrize("settings", [{}, {"norm": "layer"}, {"normalize_values": True}])
def test_a_stand_in_acts_like_the_policy_it_was_refreshed_from(settings):
    original = policy(**settings)
    standing = Standing(original)
    same(acted(standing.policy), acted(original))
    before = acted(original)
    with torch.no_grad():
        for parameter in original.parameters():
            parameter += 0.01 * torch.randn_like(parameter)
    original.observe_returns(torch.linspace(3, 9, 50))
    same(acted(standing.policy), before)
    standing.refresh()
    same(acted(standing.policy), acted(original))
    assert not torch.equal(before.value, acted(original).value)


def test_a_stand_in_is_laid_out_for_few_rows_and_shares_no_memory():
    original = policy()
    standing = Standing(original).policy
    linear, conv = standing.actor.trunk[0].weight, standing.actor.encoders[0][2].weight
    assert linear.t().is_contiguous() and not linear.requires_grad
    assert conv.is_contiguous(memory_format=torch.channels_last)
    theirs = {parameter.data_ptr() for parameter in original.parameters()}
    assert not theirs & {parameter.data_ptr() for parameter in standing.parameters()}


def test_the_torch_engine_asks_the_policy_itself():
    actors = [Actors(policy(engine=engine), torch.Generator()) for engine in ("auto", "torch")]
    assert [actor._standing is None for actor in actors] == [False, True]
