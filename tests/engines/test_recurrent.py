"""The NumPy network with a core against torch's cells, step by step: outputs, gradients, states."""

import numpy as np
import pytest
import torch

from spotter.algos.ppo import Config
from spotter.config import PolicyConfig
from spotter.engines import acting
from spotter.engines.acting import NumpyActor, TorchActor
from spotter.engines.network import Network, choose_engine
from spotter.engines.optim import Optimizer
from spotter.policy.actor import cleared
from spotter.policy.actor_critic import Policy
from spotter.policy.core import Core
from spotter.policy.cores.gru import Gru
from spotter.policy.cores.lstm import Lstm
from spotter.rollouts.timeline import Timeline
from spotter.types import ActionSpec, Leaf, Spaces, UserError
from tests.engines.test_network import ACTIONS, OBSERVATIONS
from tests.policy.counting import Counting

pytestmark = pytest.mark.usefixtures("primitives")

STEPS, COUNT = 11, 5
CORES = [
    {"name": name, "size": size, "layers": layers}
    for name in ("gru", "lstm")
    for size, layers in ((7, 1), (20, 1), (6, 3))
]


@pytest.fixture(autouse=True)
def torch_cells(monkeypatch):
    """The reference: not even torch's policy shares the gradients under test."""
    for core in (Gru, Lstm):
        monkeypatch.setattr(core, "run", Core.run)


def pair(core, observation="vector", action="discrete", **config):
    """A policy with lively weights, its counterpart, and where gradients go."""
    torch.manual_seed(0)
    spaces = Spaces(OBSERVATIONS[observation], ACTIONS[action])
    config = {"hidden": (16, 12), "policy_gain": 1.0, "core": core, **config}
    policy = Policy(spaces, PolicyConfig(**config))
    optimizer = Optimizer(policy, Config())
    with torch.no_grad():
        optimizer.flat += 0.1 * torch.randn_like(optimizer.flat)
    network = Network(policy)
    network.bind(optimizer.gradient_of)
    return policy, network, optimizer


def seen(policy, draw, count):
    obs = {}
    for path, leaf in policy.spaces.observation.items():
        if leaf.nvec:
            most = leaf.nvec if leaf.shape else leaf.nvec[0]
            obs[path] = draw.integers(0, most, (count, *leaf.shape))
        else:
            obs[path] = draw.normal(size=(count, *leaf.shape)).astype(np.float32)
    return obs


def masks_for(policy, draw, count):
    action = policy.spaces.action
    masks = draw.random((count, action.mask_size)) < 0.6
    masks[:, 0] = True
    if action.kind == "multi_discrete":
        masks[:, action.nvec[0]] = True
    return masks


def lively(policy, count):
    return tuple(torch.randn(part.shape) for part in policy.initial_state(count))


def tensors(obs):
    return {path: torch.from_numpy(leaf) for path, leaf in obs.items()}


def compare(policy, network, optimizer, *, ends="random", mask=False):
    """What sequences say and the gradient through them, against autograd on torch's cells."""
    draw, rows = np.random.default_rng(1), STEPS * COUNT
    flags = draw.random((STEPS, COUNT)) < {"random": 0.3, "never": 0.0, "always": 1.0}[ends]
    obs = seen(policy, draw, rows)
    masks = masks_for(policy, draw, rows) if mask else None
    valid = None if masks is None else torch.from_numpy(masks)
    taken = policy.act(tensors(obs), valid, lively(policy, rows)).action.clone()
    of_log_prob, of_value = draw.normal(size=(2, rows)).astype(np.float32)
    of_entropy = np.float32(0.07)
    recalled = Timeline.of(flags, None, lively(policy, COUNT)).sequences()

    said = policy.evaluate(tensors(obs), taken, valid, recalled)
    loss = (torch.from_numpy(of_log_prob) * said.log_prob).sum()
    loss = loss + of_entropy * said.entropy.sum()
    loss = loss + (torch.from_numpy(of_value) * policy.normalize_value(said.value)).sum()
    found = torch.autograd.grad(loss, optimizer._parameters, allow_unused=True)
    expected = torch.cat(
        [
            (torch.zeros_like(p) if g is None else g).flatten()
            for g, p in zip(found, optimizer._parameters, strict=True)
        ]
    )

    ours = network.evaluate(network.inputs(obs), taken.numpy(), masks, recalled)
    close = {"rtol": 5e-4, "atol": 5e-5}
    np.testing.assert_allclose(ours.log_prob, said.log_prob.detach(), **close)
    np.testing.assert_allclose(ours.entropy, said.entropy.detach(), **close)
    np.testing.assert_allclose(network.restored(ours.raw_value), said.value.detach(), **close)
    network.backward(of_log_prob, float(of_entropy), of_value)
    scale = float(expected.abs().max())
    np.testing.assert_allclose(optimizer.gradient.numpy(), expected, rtol=2e-3, atol=2e-5 * scale)


@pytest.mark.parametrize("ends", ["never", "random", "always"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("core", CORES, ids=str)
def test_gradients_through_time_equal_autograd(core, shared, ends):
    compare(*pair(core, shared=shared), ends=ends)


@pytest.mark.parametrize("core", ["gru", "lstm"])
@pytest.mark.parametrize("action", ACTIONS)
def test_gradients_equal_autograd_for_every_action_space(core, action):
    mask = action != "box"
    compare(*pair(core, action=action), mask=mask)
    compare(*pair(core, action=action, shared=True))


@pytest.mark.parametrize("observation", OBSERVATIONS)
def test_gradients_equal_autograd_for_every_observation(observation):
    compare(*pair("gru", observation))
    compare(*pair("lstm", observation, hidden=()))


@pytest.mark.parametrize(
    "config",
    [
        {"normalize_values": True},
        {"normalize_obs": "running"},
        {"norm": "layer", "activation": "silu"},
        {"activation": "relu", "hidden": (9,)},
        {"join": "encode"},
    ],
    ids=str,
)
def test_gradients_equal_autograd_for_every_option(config):
    policy, network, optimizer = pair("lstm", "nested", **config)
    policy.observe_returns(torch.linspace(-5, 20, 40))
    policy.observe(tensors(seen(policy, np.random.default_rng(7), 50)))
    compare(policy, network, optimizer)


def test_wide_cores_whose_inputs_go_to_blas():
    compare(*pair({"name": "lstm", "size": 192}, hidden=(192,)))


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("core", CORES, ids=str)
def test_acting_is_that_of_torch_step_by_step(core, action, deterministic):
    """The same random numbers, actions and states, wherever episodes begin."""
    policy, _, _ = pair(core, action=action)
    torched = TorchActor(policy, torch.Generator().manual_seed(4))
    ours = acting.make(policy, 4)
    assert isinstance(ours, NumpyActor)
    draw, theirs = np.random.default_rng(0), lively(policy, COUNT)
    state = theirs
    for _ in range(8):
        obs = seen(policy, draw, COUNT)
        given = [part.clone() for part in state]
        expected, found = (
            actor.act(obs, None, memory, deterministic)
            for actor, memory in ((torched, theirs), (ours, state))
        )
        assert all(map(torch.equal, given, state)), "not changed in place"
        close = {"rtol": 1e-4, "atol": 2e-5}
        np.testing.assert_allclose(found.action, expected.action, **close)
        np.testing.assert_allclose(found.log_prob, expected.log_prob, **close)
        np.testing.assert_allclose(found.value, expected.value, **close)
        np.testing.assert_allclose(ours.value(obs, state), expected.value, **close)
        for mine, other in zip(found.state, expected.state, strict=True):
            assert mine.shape == other.shape
            np.testing.assert_allclose(mine, other, **close)
        begun = draw.random(COUNT) < 0.3
        theirs, state = cleared(expected.state, begun), cleared(found.state, begun)
    assert torch.equal(torched.generator.get_state(), ours.generator.get_state())


@pytest.mark.parametrize("core", ["gru", "lstm"])
def test_masked_actions_are_never_chosen(core):
    policy, network, _ = pair(core)
    draw = np.random.default_rng(0)
    for noise in [None, *network.draw(30, COUNT, torch.Generator().manual_seed(0))]:
        mask = masks_for(policy, draw, COUNT)
        x = network.inputs(seen(policy, draw, COUNT))
        action = network.step(x, mask, noise, lively(policy, COUNT)).action
        assert mask[np.arange(COUNT), action].all()


def test_weights_loaded_later_are_seen():
    policy, _, _ = pair("lstm")
    actor, obs = acting.make(policy, 0), seen(policy, np.random.default_rng(0), COUNT)
    state = policy.initial_state(COUNT)
    before = actor.act(obs, None, state).state[0].clone()
    policy.load_state_dict({k: v * 2 for k, v in policy.state_dict().items()})
    assert not torch.allclose(before, actor.act(obs, None, state).state[0])


def test_without_its_state_it_refuses_to_act_and_to_learn():
    policy, network, _ = pair("gru")
    obs = seen(policy, np.random.default_rng(0), COUNT)
    with pytest.raises(UserError, match="needs to know what came before"):
        acting.make(policy, 0).act(obs, None)
    with pytest.raises(UserError, match="needs to know what came before"):
        network.value(network.inputs(obs))
    with pytest.raises(UserError, match="needs to know what came before"):
        network.evaluate(network.inputs(obs), np.zeros(COUNT, np.int64), None)


def test_another_memory_is_left_to_torch_or_refused():
    spaces = Spaces({"obs": Leaf("vector", (3,), "float32")}, ActionSpec("discrete", (), (4,)))
    why = "its memory is neither gru nor lstm"
    assert choose_engine(Counting(spaces, PolicyConfig())) == ("torch", why)
    with pytest.raises(UserError, match=why):
        choose_engine(Counting(spaces, PolicyConfig(engine="numpy")))


def test_a_core_made_from_gru_is_not_taken_for_it(monkeypatch):
    class Own(Gru):
        def forward(self, x, state):
            return super().forward(-x, state)

    policy, _, _ = pair("gru")
    assert choose_engine(policy).name == "numpy"
    policy.memory.critic.__class__ = Own
    assert choose_engine(policy).why == "its memory is neither gru nor lstm"
