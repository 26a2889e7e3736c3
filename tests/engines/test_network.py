"""The NumPy network against the torch policy it stands on: outputs, gradients, choices."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spotter.algos.ppo import Config
from spotter.config import PolicyConfig
from spotter.engines.network import Network, numpy_network_for, reason_against
from spotter.engines.optim import Optimizer
from spotter.policy.actor_critic import Policy
from spotter.types import ActionSpec, Leaf, Spaces, UserError

pytestmark = pytest.mark.usefixtures("primitives")

VECTOR = Leaf("vector", (5,), "float32", low=(-1.0,) * 4 + (-np.inf,), high=(3.0,) * 4 + (np.inf,))
OBSERVATIONS = {
    "vector": {"obs": VECTOR},
    "number": {"obs": Leaf("discrete", (), "int64", nvec=(7,))},
    "large number": {"obs": Leaf("discrete", (), "int64", nvec=(200,))},
    "numbers": {"obs": Leaf("multi_discrete", (3,), "int64", nvec=(3, 60, 9))},
    "switches": {"obs": Leaf("binary", (4,), "float32")},
    "nested": {"a": VECTOR, "b/c": Leaf("discrete", (), "int64", nvec=(90,))},
}
ACTIONS = {
    "discrete": ActionSpec("discrete", (), nvec=(4,)),
    "multi_discrete": ActionSpec("multi_discrete", (2,), nvec=(3, 2)),
    "binary": ActionSpec("binary", (3,)),
    "box": ActionSpec("box", (2,)),
}
COUNT = 33


def pair(observation, action, seed=0, **config):
    """A policy with lively weights, its twin, and where gradients go."""
    torch.manual_seed(seed)
    spaces = Spaces(OBSERVATIONS[observation], ACTIONS[action])
    config = {"hidden": (16, 12), "policy_gain": 1.0, **config}
    policy = Policy(spaces, PolicyConfig(**config))
    optimizer = Optimizer(policy, Config())
    with torch.no_grad():
        optimizer.flat += 0.1 * torch.randn_like(optimizer.flat)
    network = Network(policy)
    network.bind(optimizer.gradient_of)
    return policy, network, optimizer


def samples(policy, seed=0, mask=False):
    draw = np.random.default_rng(seed)
    obs = {}
    for path, leaf in policy.spaces.observation.items():
        if leaf.nvec:
            most = leaf.nvec if leaf.shape else leaf.nvec[0]
            obs[path] = draw.integers(0, most, (COUNT, *leaf.shape))
        else:
            obs[path] = draw.normal(size=(COUNT, *leaf.shape)).astype(np.float32)
    action = policy.spaces.action
    masks = None
    if mask:
        masks = draw.random((COUNT, action.mask_size)) < 0.7
        masks[:, 0] = True
        if action.kind == "multi_discrete":
            masks[:, action.nvec[0]] = True
    tensors = {path: torch.from_numpy(leaf) for path, leaf in obs.items()}
    taken = policy.act(tensors, None if masks is None else torch.from_numpy(masks)).action
    return obs, tensors, taken.clone(), masks


def torch_gradient(policy, optimizer, tensors, taken, masks, slopes):
    of_log_prob, of_entropy, of_value = map(torch.as_tensor, slopes)
    said = policy.evaluate(tensors, taken, None if masks is None else torch.from_numpy(masks))
    raw = policy.normalize_value(said.value)
    loss = (
        (of_log_prob * said.log_prob).sum()
        + of_entropy * said.entropy.sum()
        + (of_value * raw).sum()
    )
    found = torch.autograd.grad(loss, optimizer._parameters, allow_unused=True)
    pieces = [
        torch.zeros_like(p) if g is None else g
        for g, p in zip(found, optimizer._parameters, strict=True)
    ]
    return said, torch.cat([piece.flatten() for piece in pieces])


def compare(policy, network, optimizer, seed=0, mask=False):
    obs, tensors, taken, masks = samples(policy, seed, mask)
    draw = np.random.default_rng(seed + 1)
    slopes = (
        draw.normal(size=COUNT).astype(np.float32),
        np.float32(0.1 * draw.normal()),  # torch itself overflows from 1 on where masks are
        draw.normal(size=COUNT).astype(np.float32),
    )
    expected, gradient = torch_gradient(policy, optimizer, tensors, taken, masks, slopes)
    said = network.evaluate(network.inputs(obs), taken.numpy(), masks)
    close = {"rtol": 2e-4, "atol": 2e-5}
    np.testing.assert_allclose(said.log_prob, expected.log_prob.detach(), **close)
    np.testing.assert_allclose(said.entropy, expected.entropy.detach(), **close)
    np.testing.assert_allclose(network.restored(said.raw_value), expected.value.detach(), **close)
    network.backward(slopes[0], float(slopes[1]), slopes[2])
    scale = float(gradient.abs().max())
    np.testing.assert_allclose(optimizer.gradient.numpy(), gradient, rtol=1e-3, atol=2e-5 * scale)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("observation", OBSERVATIONS)
def test_gradients_equal_autograd_for_every_space(observation, action):
    compare(*pair(observation, action))


@pytest.mark.parametrize("norm", [None, "layer"])
@pytest.mark.parametrize("hidden", [(16, 12), ()])
@pytest.mark.parametrize("shared", [False, True])
def test_gradients_equal_autograd_however_leaves_are_joined(norm, hidden, shared):
    for observation, join in (
        ("nested", "encode"), ("nested", "concat"), ("vector", "encode"), ("large number", "encode")
    ):  # fmt: skip
        policy, network, optimizer = pair(
            observation, "discrete", join=join, norm=norm, hidden=hidden, shared=shared
        )
        compare(policy, network, optimizer)
        obs, tensors, *_ = samples(policy)
        mine = network.activations({"x": network.inputs(obs)})
        for ours, theirs in zip(mine, policy.activations(tensors), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("action", ["discrete", "multi_discrete", "binary"])
def test_masked_actions_have_no_gradient_of_their_own(action):
    compare(*pair("vector", action), mask=True)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("norm", [None, "layer"])
@pytest.mark.parametrize("activation", ["tanh", "relu", "elu", "gelu", "silu"])
def test_gradients_equal_autograd_for_every_layer(activation, norm, shared):
    compare(*pair("vector", "discrete", activation=activation, norm=norm, shared=shared))


@pytest.mark.parametrize("action", ["box", "discrete"])
@pytest.mark.parametrize(
    "config",
    [
        {"hidden": ()},
        {"hidden": (), "shared": True},
        {"hidden": (8,)},
        {"squash": True},
        {"log_std": -1.0},
        {"normalize_obs": "running"},
        {"normalize_obs": "bounds"},
        {"normalize_values": True},
        {"normalize_values": True, "shared": True},
    ],
    ids=str,
)
def test_gradients_equal_autograd_for_every_option(action, config):
    policy, network, optimizer = pair("vector", action, **config)
    _, tensors, _, _ = samples(policy, seed=5)
    policy.observe(tensors)  # statistics that moved after the twin was made
    policy.observe_returns(torch.linspace(-5, 20, 40))
    compare(policy, network, optimizer)


@pytest.mark.parametrize("discrete", ["onehot", "binary"])
def test_gradients_equal_autograd_for_numbers_as_inputs(discrete):
    for observation in ("number", "large number", "numbers", "nested"):
        compare(*pair(observation, "discrete", discrete=discrete))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    action=st.sampled_from(sorted(ACTIONS)),
    observation=st.sampled_from(sorted(OBSERVATIONS)),
    hidden=st.lists(st.integers(1, 40), max_size=3).map(tuple),
    activation=st.sampled_from(["tanh", "relu", "elu", "gelu", "silu"]),
    norm=st.sampled_from([None, "layer"]),
    shared=st.booleans(),
)
def test_gradients_equal_autograd_whatever_the_network(
    seed, action, observation, hidden, activation, norm, shared
):
    # a norm over one or two features puts out constants or signs: rounding decides its gradient
    hidden = tuple(max(4, width) for width in hidden) if norm else hidden
    config = {"hidden": hidden, "activation": activation, "norm": norm, "shared": shared}
    compare(*pair(observation, action, seed, **config), seed=seed)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("squash", [False, True])
def test_choices_come_off_the_same_stream(action, squash, deterministic):
    policy, network, _ = pair("vector", action, squash=squash)
    theirs, ours = torch.Generator().manual_seed(4), torch.Generator().manual_seed(4)
    steps = 6
    noise = network.draw(steps, COUNT, ours)
    for step in range(steps):
        obs, tensors, _, _ = samples(policy, seed=step)
        expected = policy.act(tensors, None, (), theirs, deterministic).action.numpy()
        chosen = network.choose(network.inputs(obs), None, None if deterministic else noise[step])
        assert chosen.shape == expected.shape
        np.testing.assert_allclose(chosen, expected, rtol=1e-4, atol=1e-5)
    if not deterministic:
        assert torch.equal(theirs.get_state(), ours.get_state())


def test_masked_actions_are_never_chosen():
    policy, network, _ = pair("vector", "discrete")
    obs, _, _, masks = samples(policy, mask=True)
    generator = torch.Generator().manual_seed(0)
    x = network.inputs(obs)
    for noise in [None, *network.draw(50, COUNT, generator)]:
        chosen = network.choose(x, masks, noise)
        assert masks[np.arange(COUNT), chosen].all()


def test_smaller_batches_after_larger_ones_reuse_memory_without_leftovers():
    policy, network, _ = pair("vector", "discrete")
    obs, _, taken, _ = samples(policy)
    x = network.inputs(obs)
    whole = network.evaluate(x, taken.numpy(), None)
    few = network.evaluate(x[:5], taken.numpy()[:5], None)
    np.testing.assert_allclose(few.log_prob, whole.log_prob[:5], rtol=1e-5)


def test_weights_loaded_later_are_seen():
    policy, network, _ = pair("vector", "discrete")
    obs, _, _, _ = samples(policy)
    before = network.value(network.inputs(obs)).copy()
    policy.load_state_dict({k: v * 2 for k, v in policy.state_dict().items()})
    assert not np.allclose(before, network.value(network.inputs(obs)))


@pytest.mark.parametrize(
    ("leaves", "config", "words"),
    [
        ({"obs": Leaf("image", (1, 40, 40), "uint8")}, {}, "images"),
        (OBSERVATIONS["number"], {"discrete": "embedding"}, "embedding"),
        (OBSERVATIONS["vector"], {"norm": "batch"}, "BatchNorm1d"),
        (OBSERVATIONS["vector"], {"hidden": (2000, 2000)}, "large"),
    ],
)
def test_what_it_cannot_do_is_left_to_torch_or_refused(leaves, config, words):
    spaces = Spaces(leaves, ACTIONS["discrete"])
    policy = Policy(spaces, PolicyConfig(**config))
    assert words in reason_against(policy)
    assert numpy_network_for(policy) is None
    asked = Policy(spaces, PolicyConfig(engine="numpy", **config))
    with pytest.raises(UserError, match=words):
        numpy_network_for(asked)


def test_torch_is_used_when_asked_for():
    policy = Policy(Spaces(OBSERVATIONS["vector"], ACTIONS["box"]), PolicyConfig(engine="torch"))
    assert not reason_against(policy)
    assert numpy_network_for(policy) is None
