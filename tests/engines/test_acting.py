"""Acting on a CPU: weights in another order are the same weights."""

import numpy as np
import pytest
import torch

from spotter.config import PolicyConfig
from spotter.engines.acting import (
    InferenceCopy,
    NumpyActor,
    TorchActor,
    explain,
    inference_copy,
    make,
    one_thread,
)
from spotter.policy.actor_critic import Policy
from spotter.types import ActionSpec, Leaf, Spaces
from tests.policy.counting import Counting

VECTOR = Spaces({"obs": Leaf("vector", (3,), "float32")}, ActionSpec("discrete", (), (4,)))
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
    standing = InferenceCopy(original)
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
    standing = InferenceCopy(original).policy
    linear, conv = standing.actor.trunk[0].weight, standing.actor.encoders[0][2].weight
    assert linear.t().is_contiguous() and not linear.requires_grad
    assert conv.is_contiguous(memory_format=torch.channels_last)
    theirs = {parameter.data_ptr() for parameter in original.parameters()}
    assert not theirs & {parameter.data_ptr() for parameter in standing.parameters()}


def test_the_torch_engine_asks_the_policy_itself():
    engines = ("auto", "torch")
    assert [inference_copy(policy(engine=engine)) is None for engine in engines] == [False, True]


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("deterministic", [True, False])
def test_an_action_is_the_same_with_its_explanation(engine, deterministic):
    network = Policy(VECTOR, PolicyConfig(engine=engine, policy_gain=1.0))
    rng = np.random.default_rng(0)
    plain, explaining = make(network, 3), make(network, 3)
    assert isinstance(plain, NumpyActor if engine == "numpy" else TorchActor)
    for _ in range(5):
        obs = {"obs": rng.normal(size=(6, 3)).astype(np.float32)}
        acted = plain.act(obs, None, (), deterministic)
        explained = explain(explaining, obs, None, (), deterministic)
        assert acted.state == ()
        np.testing.assert_array_equal(acted.host_action(), explained.action)
        theirs = explained.distribution.log_prob(explained.action)
        assert torch.equal(explained.log_prob, theirs)


def test_an_action_from_elsewhere_is_explained_without_a_random_number():
    actor = make(Policy(VECTOR, PolicyConfig()), 3)
    before = actor.generator.get_state()
    obs = {"obs": np.zeros((1, 3), np.float32)}
    explained = explain(actor, obs, None, (), False, np.array([2]))
    assert explained.action.tolist() == [2]
    assert torch.equal(actor.generator.get_state(), before)


def test_another_memory_is_carried_by_torch():
    actor = make(Counting(VECTOR, PolicyConfig()), 0)
    assert isinstance(actor, TorchActor)
    obs, state = {"obs": np.zeros((2, 3), np.float32)}, actor.policy.initial_state(2)
    for step in range(6):
        acted = actor.act(obs, None, state)
        explained = explain(actor, obs, None, state, False)
        assert acted.host_action().tolist() == [step % 4] * 2
        assert torch.equal(acted.state[0], explained.state[0])
        state = acted.state


def test_one_thread_is_for_a_moment():
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
