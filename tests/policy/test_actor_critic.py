"""The policy over every supported pair of spaces."""

import math

import pytest
import torch

from spotter.config import PolicyConfig
from spotter.engines import functional as F
from spotter.policy.actor_critic import Policy
from spotter.policy.encoders.impala_cnn import Residual
from spotter.types import ActionSpec, Leaf, Spaces, UserError

LEAVES = {
    "vector": Leaf("vector", (4,), "float32", low=(-1.0,) * 4, high=(1.0,) * 4),
    "image": Leaf("image", (3, 40, 36), "uint8"),
    "small image": Leaf("image", (4, 10, 10), "float32"),
    "discrete": Leaf("discrete", (), "int64", nvec=(7,)),
    "multi": Leaf("multi_discrete", (2,), "int64", nvec=(3, 5)),
    "binary": Leaf("binary", (6,), "float32"),
}
ACTIONS = [
    ActionSpec("discrete", (), (3,)),
    ActionSpec("multi_discrete", (2,), (2, 4)),
    ActionSpec("binary", (3,)),
    ActionSpec("box", (2,)),
]


def example(leaf, batch=5):
    if leaf.nvec:
        high = torch.tensor(leaf.nvec)
        numbers = (torch.rand(batch, len(leaf.nvec)) * high).long()
        return numbers if leaf.shape else numbers[:, 0]
    if leaf.dtype == "uint8":
        return torch.randint(0, 256, (batch, *leaf.shape), dtype=torch.uint8)
    return torch.rand(batch, *leaf.shape)


@pytest.mark.parametrize("leaf", LEAVES.values(), ids=LEAVES)
@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.kind)
@pytest.mark.parametrize("shared", [True, False])
def test_every_space_acts_evaluates_and_gets_gradients(leaf, action, shared):
    policy = Policy(Spaces({"obs": leaf}, action), PolicyConfig(shared=shared))
    obs = {"obs": example(leaf)}
    acted = policy.act(obs, generator=torch.Generator().manual_seed(0))
    assert acted.action.shape == (5, *action.shape)
    assert acted.log_prob.shape == acted.value.shape == (5,)
    policy.train()
    now = policy.evaluate(obs, acted.action.clone())
    torch.testing.assert_close(now.log_prob, acted.log_prob.clone())
    torch.testing.assert_close(now.value, acted.value.clone())
    (now.log_prob.sum() + now.entropy.sum() + now.value.sum()).backward()
    assert all(p.grad is not None for p in policy.parameters())


def test_dict_observations_join_every_leaf():
    policy = Policy(Spaces(LEAVES, ACTIONS[0]), PolicyConfig())
    obs = {path: example(leaf) for path, leaf in LEAVES.items()}
    base = policy.value(obs)
    for path, leaf in LEAVES.items():
        changed = {**obs, path: (obs[path] + 1) % (max(leaf.nvec) if leaf.nvec else 200)}
        if leaf.kind == "multi_discrete":
            changed[path] = changed[path] % 3
        assert not torch.equal(policy.value(changed), base), f"{path} has no effect"


@pytest.mark.parametrize("encoding", ["onehot", "embedding", "binary"])
@pytest.mark.parametrize("leaf", [LEAVES["discrete"], LEAVES["multi"]], ids=lambda x: x.kind)
def test_discrete_encodings_tell_states_apart(encoding, leaf):
    policy = Policy(Spaces({"obs": leaf}, ACTIONS[0]), PolicyConfig(discrete=encoding))
    states = torch.cartesian_prod(*[torch.arange(n) for n in leaf.nvec])
    values = policy.value({"obs": states})
    assert len(set(values.tolist())) == len(states)


@pytest.mark.parametrize("leaf", LEAVES.values(), ids=LEAVES)
def test_first_policy_is_near_uniform(leaf):
    torch.manual_seed(1)
    discrete = Policy(Spaces({"obs": leaf}, ACTIONS[0]), PolicyConfig())
    obs = {"obs": example(leaf, 64)}
    distribution, _, _ = discrete(obs)
    assert distribution.entropy().min().item() > math.log(3) - 0.02
    box = Policy(Spaces({"obs": leaf}, ACTIONS[3]), PolicyConfig())
    normal, _, _ = box(obs)
    assert normal.mean.abs().max().item() < 0.2
    assert normal.log_std.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_norm_layers_are_there_and_train(norm):
    policy = Policy(Spaces({"obs": LEAVES["vector"]}, ACTIONS[0]), PolicyConfig(norm=norm))
    kind = torch.nn.LayerNorm if norm == "layer" else torch.nn.BatchNorm1d
    assert sum(isinstance(module, kind) for module in policy.modules()) == 4
    obs = {"obs": torch.randn(16, 4) * 100}
    policy.train()
    policy.evaluate(obs, torch.zeros(16, dtype=torch.long)).log_prob.sum().backward()
    policy.eval()
    assert policy.act({"obs": torch.randn(1, 4)}).action.shape == (1,)


def test_activation_width_and_orthogonal_settings_take_effect():
    config = PolicyConfig(hidden=(32, 16, 8), activation="gelu", shared=True)
    policy = Policy(Spaces({"obs": LEAVES["vector"]}, ACTIONS[0]), config)
    widths = [m.out_features for m in policy.actor.trunk if isinstance(m, torch.nn.Linear)]
    assert widths == [32, 16, 8]
    assert sum(isinstance(m, torch.nn.GELU) for m in policy.actor.trunk) == 3
    first = policy.actor.trunk[0].weight
    torch.testing.assert_close(first.T @ first, 2 * torch.eye(4), atol=1e-4, rtol=0)
    plain = Policy(policy.spaces, PolicyConfig(orthogonal=False)).actor.trunk[0].weight
    assert (plain.T @ plain - 2 * torch.eye(4)).abs().max() > 0.05


def test_images_pick_an_encoder_by_size():
    big = Policy(Spaces({"obs": LEAVES["image"]}, ACTIONS[0]), PolicyConfig())
    small = Policy(Spaces({"obs": LEAVES["small image"]}, ACTIONS[0]), PolicyConfig())
    assert big.shared, "images share the trunk unless told otherwise"
    assert big.actor.encoders[0][0].kernel_size == (8, 8)
    assert small.actor.encoders[0][0].kernel_size == (3, 3)
    with pytest.raises(UserError, match="at least 36×36, got 10×10; use impala_cnn"):
        Policy(small.spaces, PolicyConfig(encoder="nature_cnn"))


@pytest.mark.parametrize("encoder", ["mlp", "nature_cnn", "impala_cnn"])
def test_image_policies_fit_a_picture_to_an_action(encoder):
    """MODEL-04: gradients reach the first layer and the loss goes down."""
    torch.manual_seed(0)
    spaces = Spaces({"obs": Leaf("image", (1, 36, 36), "uint8")}, ActionSpec("discrete", (), (2,)))
    policy = Policy(spaces, PolicyConfig(encoder=encoder, hidden=(32,)))
    images = torch.zeros(16, 1, 36, 36, dtype=torch.uint8)
    images[:8, :, :, :18] = 255
    images[8:, :, :, 18:] = 255
    labels = (torch.arange(16) >= 8).long()
    optimizer = torch.optim.Adam(policy.parameters(), 3e-3)
    for _ in range(60):
        loss = -policy.evaluate({"obs": images}, labels).log_prob.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
    assert torch.equal(policy.act({"obs": images}, deterministic=True).action, labels)


def test_parts_cover_every_parameter_once():
    for shared in (True, False):
        policy = Policy(Spaces({"obs": LEAVES["vector"]}, ACTIONS[3]), PolicyConfig(shared=shared))
        listed = [id(p) for part in policy.parts().values() for p in part]
        assert sorted(listed) == sorted(id(p) for p in policy.parameters())


def test_activations_come_after_the_activation_function():
    config = PolicyConfig(activation="relu", hidden=(16, 16))
    policy = Policy(Spaces({"obs": LEAVES["vector"]}, ACTIONS[0]), config)
    layers = policy.activations({"obs": torch.randn(32, 4)})
    assert [tuple(layer.shape) for layer in layers] == [(32, 16)] * 4
    assert all(layer.min() >= 0 for layer in layers)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_activations_inside_residual_blocks_count(activation):
    """Twelve in the six blocks, one behind them, one in the trunk."""
    torch.manual_seed(0)
    spaces = Spaces({"obs": LEAVES["small image"]}, ACTIONS[0])
    policy = Policy(spaces, PolicyConfig(encoder="impala_cnn", activation=activation))
    obs = {"obs": example(LEAVES["small image"], 32)}
    alive = policy.activations(obs)
    assert len(alive) == 14
    assert F.dead_fraction(alive) < 0.4
    with torch.no_grad():
        for block in policy.actor.encoders[0]:
            if isinstance(block, Residual):
                block.body[1].bias.fill_(-1e6)
    dead = policy.activations(obs)
    assert F.dead_fraction(dead[1:12:2]) == 1.0
    assert F.dead_fraction(dead) > F.dead_fraction(alive) + 0.2
    assert not any(module._forward_hooks for module in policy.modules()), "nothing stays behind"
