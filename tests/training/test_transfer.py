"""Weights of one run in the network of another."""

import pytest
import torch

from spotter.training.training import Training
from spotter.training.transfer import graft
from spotter.types import UserError


def policy_of(make_config, env_id="CartPole-v1", seed=1, **policy):
    with Training(make_config(env_id, policy=policy, seed=seed)) as training:
        return training.policy


def test_the_same_network_takes_everything(make_config):
    old = policy_of(make_config, normalize_obs="running")
    new = policy_of(make_config, seed=2, normalize_obs="running")
    plan = graft(new, old.state_dict(), "x")
    assert plan.is_complete
    ours, theirs = new.state_dict(), old.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert "inputs.obs.mean" in plan.copied, "statistics travel with the weights"


def test_another_environment_takes_what_fits(make_config):
    old = policy_of(make_config, "CartPole-v1")
    new = policy_of(make_config, "Acrobot-v1", seed=2)
    before = {name: tensor.clone() for name, tensor in new.state_dict().items()}
    plan = graft(new, old.state_dict(), "x")
    assert plan.reshaped["actor.trunk.0.weight"] == "[64, 4] is not [64, 6]"
    assert "policy_head.linear.weight" in plan.reshaped
    assert "actor.trunk.2.weight" in plan.copied
    after = new.state_dict()
    assert torch.equal(after["actor.trunk.0.weight"], before["actor.trunk.0.weight"])
    assert torch.equal(after["actor.trunk.2.weight"], old.state_dict()["actor.trunk.2.weight"])
    lines = "\n".join(plan.lines())
    assert "actor.trunk.0: copied bias; fresh weight ([64, 4] is not [64, 6])" in lines
    assert "actor.trunk.2: copied weight, bias" in lines
    assert f"{len(plan.copied)} of {len(after)} tensors copied" == plan.sentence()


def test_layers_that_only_one_has_are_said(make_config):
    old = policy_of(make_config, hidden=[64, 64, 64])
    new = policy_of(make_config, hidden=[64, 64], normalize_obs="running")
    plan = graft(new, old.state_dict(), "x")
    assert "actor.trunk.4.weight" in plan.dropped
    assert "inputs.obs.mean" in plan.new


def test_a_network_that_shares_nothing_is_a_mistake(make_config):
    with pytest.raises(UserError, match="no tensor of elsewhere fits"):
        graft(policy_of(make_config), {"other": torch.zeros(3)}, "elsewhere")
