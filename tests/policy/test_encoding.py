"""Several observation leaves: each encoded to the same scale, so that each can be learnt from."""

import shutil
from pathlib import Path

import pytest
import torch

from spotter.config import PolicyConfig, resolve
from spotter.policy.actor_critic import Policy
from spotter.rundir.run import home
from spotter.rundir.trust import trusting
from spotter.training.checkpoint import find, load, read
from spotter.training.evaluate import play_again
from spotter.training.resume import resume
from spotter.training.run import train
from spotter.types import ActionSpec, Leaf, Spaces
from tests.faults.processes import SOAK
from tests.policy.test_actor_critic import ACTIONS, LEAVES, example

BEFORE_JOIN = Path(__file__).parents[1] / "museum" / "before-join"
ENV = "tests.learning.leaves:Leaves-v0"
PLAIN = ["vector", "far", "number"]


def leaves(*names):
    return Spaces({name: LEAVES[name] for name in names}, ACTIONS[0])


@pytest.mark.parametrize("orthogonal", [True, False])
def test_every_leaf_arrives_with_the_same_width_and_scale(orthogonal):
    torch.manual_seed(0)
    wide = Leaf("vector", (300,), "float32", low=(-1e3,) * 300, high=(1e3,) * 300)
    one = Leaf("vector", (1,), "float32", low=(-1.0,), high=(1.0,))
    policy = Policy(
        Spaces({**LEAVES, "wide": wide, "one": one}, ACTIONS[0]),
        PolicyConfig(orthogonal=orthogonal),
    )
    obs = {path: example(leaf, 256) for path, leaf in policy.spaces.observation.items()}
    obs["wide"] = 500 * torch.randn(256, 300) + 200
    policy.observe(obs)
    joined = policy.actor._join(policy.inputs(obs))
    sizes = joined.view(256, len(obs), -1).square().mean((0, 2)).sqrt()
    assert joined.shape[1] == 256 * len(obs)
    assert sizes.max() < 3 * sizes.min(), dict(zip(obs, sizes.tolist(), strict=True))


def test_one_number_keeps_its_size():
    """A layer norm alone would leave its sign."""
    torch.manual_seed(0)
    one = Leaf("vector", (1,), "float32", low=(-1.0,), high=(1.0,))
    policy = Policy(Spaces({"a": one, "b": one}, ACTIONS[0]), PolicyConfig())
    numbers = torch.linspace(-1, 1, 21).unsqueeze(-1)
    values = policy.value({"a": numbers, "b": torch.zeros(21, 1)})
    assert len(set(values.tolist())) == 21


def test_three_numbers_beside_a_picture_are_learnt_from_at_the_default_rate():
    torch.manual_seed(0)
    spaces = Spaces(
        {
            "picture": Leaf("image", (3, 10, 10), "uint8"),
            "vector": Leaf("vector", (3,), "float32", low=(0.0,) * 3, high=(1.0,) * 3),
        },
        ActionSpec("discrete", (), (3,)),
    )
    wrong = {join: _mistakes(Policy(spaces, PolicyConfig(join=join))) for join in ("concat", None)}
    assert wrong[None] < 0.1
    assert wrong["concat"] > 3 * wrong[None], "what the layers are for"


def _mistakes(policy):
    """After 50 gradient steps towards the largest number, pictures being noise."""
    draw = torch.Generator().manual_seed(1)

    def batch(size):
        picture = torch.randint(0, 256, (size, 3, 10, 10), generator=draw, dtype=torch.uint8)
        obs = {"picture": picture, "vector": torch.rand(size, 3, generator=draw)}
        return obs, obs["vector"].argmax(-1)

    policy.observe(batch(512)[0])
    optimizer = torch.optim.Adam(policy.parameters(), 3e-4)
    for _ in range(50):
        loss = -policy.evaluate(*batch(64)).log_prob.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    obs, label = batch(512)
    chosen = policy.act(obs, deterministic=True).action
    return (chosen != label).float().mean().item()


@pytest.mark.learning
@pytest.mark.parametrize("informs", PLAIN if SOAK else ["far"])
def test_defaults_learn_from_any_leaf_of_a_dict(informs):
    """A third of all actions is right by chance."""
    assert _score(informs, PLAIN, {"budget.env_steps": 40_000}) >= 9.3


@pytest.mark.learning
@pytest.mark.skipif(not SOAK, reason="minutes; SPOTTER_SOAK=1 runs it")
@pytest.mark.parametrize("informs", ["vector", "picture"])
@pytest.mark.parametrize("side", [10, 64])
def test_defaults_learn_from_a_picture_and_from_what_is_beside_it(informs, side):
    assert _score(informs, ["picture", "vector"], {"env.kwargs.side": side}) >= 9.5


def _score(informs, shown, overrides):
    """Of ten, for the default command."""
    kwargs = {"env.kwargs": {"leaves": shown, "informs": informs}}
    quick = {"eval.every_steps": None, "eval.episodes": 100, "video.when": None}
    quick |= {"eval.deterministic": True}  # what was learnt, without the rest of the entropy
    return train(resolve(ENV, {**kwargs, **overrides, **quick}).config).score


def test_what_is_one_leaf_or_all_discrete_is_joined_as_ever():
    for name in LEAVES:
        assert len(Policy(leaves(name), PolicyConfig()).actor.layers) == 0
    assert len(Policy(leaves("discrete", "multi"), PolicyConfig()).actor.layers) == 0
    assert len(Policy(leaves("vector", "discrete"), PolicyConfig()).actor.layers) == 2
    assert len(Policy(leaves("vector"), PolicyConfig(join="encode")).actor.layers) == 1
    concat = Policy(leaves("vector", "discrete"), PolicyConfig(join="concat"))
    assert len(concat.actor.layers) == 0
    assert not concat.inputs.is_running
    assert concat.actor.trunk[0].in_features == 4 + 7


def test_leaves_may_have_any_name():
    names = ["type", "a/b", "a_b", "a.b", "forward", "", "norm", "0"]
    policy = Policy(Spaces(dict.fromkeys(names, LEAVES["vector"]), ACTIONS[0]), PolicyConfig())
    policy.observe({name: torch.full((4, 4), float(i)) for i, name in enumerate(names)})
    means = [policy.inputs.norm(name).mean[0].item() for name in names]
    assert means == list(range(len(names)))
    held = [key for key in policy.state_dict() if key.endswith(".mean")]
    assert len(held) == len(names)
    assert {"inputs.a_b.mean", "inputs.0.mean"} <= set(held), "as older checkpoints have it"


def test_activations_include_the_layers_of_leaves():
    policy = Policy(leaves("vector", "discrete"), PolicyConfig(hidden=(16,), shared=True))
    shapes = [tuple(x.shape) for x in policy.activations({
        "vector": torch.zeros(3, 4), "discrete": torch.zeros(3, dtype=torch.long),
    })]  # fmt: skip
    assert shapes == [(3, 64), (3, 64), (3, 16)]


def test_a_run_from_before_layers_of_leaves_acts_scores_and_goes_on_as_it_did():
    (exhibit,) = BEFORE_JOIN.iterdir()
    shutil.copytree(exhibit, home() / exhibit.name)
    with trusting(True):
        _acts_scores_and_goes_on(exhibit)


def _acts_scores_and_goes_on(exhibit):
    policy = load(exhibit.name)
    assert policy.config.join == "concat"
    assert policy.state_dict().keys() == read(find(exhibit.name)).weights.keys()
    assert policy.actor.trunk[0].in_features == 6
    (again,) = play_again(exhibit.name)
    assert again.as_written is True
    origin = resume(exhibit.name, ["budget.env_steps=64"])
    result = train(origin.config, new_run=lambda: origin.take_up([], ""), origin=origin)
    assert result.env_steps == 64
    assert result.run.settings()["policy"]["join"] == "concat", "written down from now on"
