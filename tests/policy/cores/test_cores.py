"""Sequences evaluated at once are steps taken one by one, wherever episodes begin and end."""

import numpy as np
import pytest
import torch

from spotter.config import PolicyConfig
from spotter.policy.actor import cleared
from spotter.policy.actor_critic import Policy
from spotter.rollouts.timeline import Timeline
from spotter.types import ActionSpec, Leaf, Spaces, UserError

STEPS, COUNT = 9, 4
ACTIONS = {
    "discrete": ActionSpec("discrete", (), (3,)),
    "multi_discrete": ActionSpec("multi_discrete", (2,), (3, 2)),
    "binary": ActionSpec("binary", (3,)),
    "box": ActionSpec("box", (2,)),
}
VECTOR = {"obs": Leaf("vector", (5,), "float32")}
CORES = [
    {"name": name, "size": 6, "layers": layers} for name in ("gru", "lstm") for layers in (1, 3)
]


def make(core, action="discrete", leaves=VECTOR, **config):
    torch.manual_seed(3)
    config = PolicyConfig(core=core, hidden=(8,), policy_gain=1.0, **config)
    return Policy(Spaces(leaves, ACTIONS[action]), config).double()


def ends_of(kind):
    """[T, N]: where an episode ends."""
    if kind == "random":
        return np.random.default_rng(0).random((STEPS, COUNT)) < 0.3
    return np.full((STEPS, COUNT), kind == "always")


def played(policy, ends, masks=None):
    """Every step acted one by one; what was seen, said and remembered."""
    draw = torch.Generator().manual_seed(1)
    state = tuple(torch.randn(part.shape, generator=draw).double() for part in
                  policy.initial_state(COUNT))  # fmt: skip
    first, rows = state, []
    for t in range(STEPS):
        obs = torch.randn(COUNT, 5, generator=draw).double()
        mask = None if masks is None else masks[t]
        acted = policy.act({"obs": obs}, mask, state, draw)
        rows.append((obs, acted, state))
        state = cleared(acted.state, ends[t])
    return first, rows, state


def flat(rows, pick):
    return torch.cat([pick(row) for row in rows])


@pytest.mark.parametrize("ends", ["never", "random", "always"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("core", CORES, ids=str)
def test_a_sequence_at_once_is_acting_step_by_step(core, shared, ends):
    policy = make(core, shared=shared)
    ends = ends_of(ends)
    first, rows, _ = played(policy, ends)
    timeline = Timeline.of(ends, None, first)
    obs, action = flat(rows, lambda row: row[0]), flat(rows, lambda row: row[1].action)
    said = policy.evaluate({"obs": obs}, action, None, timeline.sequences())
    assert (said.log_prob - flat(rows, lambda row: row[1].log_prob)).abs().max() < 1e-12
    assert (said.value - flat(rows, lambda row: row[1].value)).abs().max() < 1e-12
    alone = [policy.value({"obs": obs}, state) for obs, _, state in rows]
    assert torch.equal(torch.cat(alone), flat(rows, lambda row: row[1].value))


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_space_and_masks(action):
    policy = make("gru", action)
    size = policy.spaces.action.mask_size
    draw = np.random.default_rng(2)
    masks = None
    if size:
        masks = torch.from_numpy(draw.random((STEPS, COUNT, size)) < 0.5)
        masks[:, :, 0] = masks[:, :, -1] = True
        if action == "multi_discrete":
            masks[:, :, 1] = True
    ends = ends_of("random")
    first, rows, _ = played(policy, ends, masks)
    valid = None if masks is None else masks.flatten(0, 1)
    obs, taken = flat(rows, lambda row: row[0]), flat(rows, lambda row: row[1].action)
    recalled = Timeline.of(ends, None, first).sequences()
    said = policy.evaluate({"obs": obs}, taken, valid, recalled)
    assert (said.log_prob - flat(rows, lambda row: row[1].log_prob)).abs().max() < 1e-12
    if action == "discrete":
        assert valid.gather(1, taken[:, None]).all()


@pytest.mark.parametrize("core", CORES, ids=str)
def test_the_gradient_stops_where_an_episode_begins(core):
    policy = make(core, shared=True)
    ends = np.zeros((STEPS, COUNT), np.bool_)
    ends[3] = True
    first, rows, _ = played(policy, ends)
    obs = flat(rows, lambda row: row[0]).requires_grad_()
    action = flat(rows, lambda row: row[1].action)
    said = policy.evaluate({"obs": obs}, action, None, Timeline.of(ends, None, first).sequences())
    (slope,) = torch.autograd.grad(said.value.view(STEPS, COUNT)[7, 2], obs)
    felt = slope.view(STEPS, COUNT, -1).abs().sum(-1) > 0
    assert felt[4:8, 2].all(), "every step of its own episode so far"
    assert felt.sum() == 4, "no other step and no other env"


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("name", ["gru", "lstm"])
def test_the_gradient_through_time_is_the_one_of_torch(name, layers):
    """Derived by hand; torch's own cells, step by step, are the reference."""
    policy = make({"name": name, "size": 7, "layers": layers}, shared=True)
    ends = ends_of("random")
    first, _, _ = played(policy, ends)
    sequences = Timeline.of(ends, None, first).sequences()
    core, found = policy.memory.actor, []
    x = torch.randn(STEPS * COUNT, 8, dtype=torch.double, requires_grad=True)
    weight = torch.randn(STEPS * COUNT, 7, dtype=torch.double)
    for run in (core.run, super(type(core), core).run):
        output = run(x, sequences.sizes, sequences.state)
        slopes = torch.autograd.grad((output * weight).sum(), [x, *core.parameters()])
        found.append((output, *slopes))
    for ours, theirs in zip(*found, strict=True):
        assert (ours - theirs).abs().max() < 1e-12


def test_the_state_starts_at_zero_and_is_kept_by_the_caller():
    for core, parts in (("gru", 1), ("lstm", 2)):
        shared, apart = make(core, shared=True), make(core, shared=False)
        assert [part.shape for part in shared.initial_state(2)] == [(2, 1, 64)] * parts
        assert len(apart.initial_state(2)) == 2 * parts, "the actor's and the critic's"
        state = apart.initial_state(2)
        before = [part.clone() for part in state]
        acted = apart.act({"obs": torch.ones(2, 5).double()}, None, state)
        assert all(map(torch.equal, state, before)), "not changed in place"
        assert all(bool(part.any()) for part in acted.state)


def test_without_its_state_it_refuses_to_act():
    with pytest.raises(UserError, match="needs to know what came before"):
        make("gru").act({"obs": torch.ones(2, 5).double()})


def test_no_core_is_no_module_and_no_number():
    torch.manual_seed(0)
    spaces = Spaces(VECTOR, ACTIONS["discrete"])
    plain = Policy(spaces, PolicyConfig())
    assert plain.memory is None and plain.initial_state(3) == ()
    assert not [name for name in plain.state_dict() if "memory" in name]


def test_parts_and_critic_parameters_hold_the_cores():
    apart = make("lstm", shared=False)
    assert {"actor_core", "critic_core"} <= set(apart.parts())
    critics = {id(parameter) for parameter in apart.critic_parameters()}
    assert critics >= {id(parameter) for parameter in apart.memory.critic.parameters()}
    assert not critics & {id(parameter) for parameter in apart.memory.actor.parameters()}
    shared = make("lstm", shared=True)
    assert "core" in shared.parts() and len(shared.critic_parameters()) == 2
    counted = [id(p) for part in apart.parts().values() for p in part]
    assert sorted(counted) == sorted(id(p) for p in apart.parameters())
