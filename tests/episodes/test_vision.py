"""Filters, activations and saliency: bytes that mean what they say."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from spotter.episodes import vision
from spotter.episodes.capture import capture, capture_to_disk
from spotter.episodes.format import load, place, save
from spotter.training import checkpoint
from spotter.types import UserError
from tests.episodes.making import saved
from tests.episodes.odd import ID as ODD

SCRIPTED = "spotter.testing.scripted:Scripted-v0"
TWO = {"kwargs": {"actions": "two"}}


@pytest.mark.parametrize("encoder", ["nature_cnn", "impala_cnn"])
def test_a_look_at_one_step(make_config, encoder):
    saved(make_config(ODD, env=TWO, policy={"encoder": encoder, "hidden": [16]}))
    folder = capture_to_disk("@last", pictures=False)
    seen = vision.look(folder, 4)
    policy = checkpoint.load("@last")
    first = next(m for m in policy.actor.modules() if isinstance(m, torch.nn.Conv2d))
    assert seen.filters["obs"].shape == first.weight.shape
    assert seen.filters["obs"].dtype == np.uint8
    assert seen.saliency["action"]["obs"].shape == (3, 40, 40)
    assert seen.saliency["action"]["obs"].max() == 255
    assert all(layer.images.dtype == np.uint8 for layer in seen.layers)
    count = sum(isinstance(m, torch.nn.Conv2d) for m in policy.actor.encoders.modules())
    assert len(seen.layers) == count
    assert seen.layers[0].name == "obs convolution 1"
    assert seen.layers[0].images.shape[0] == first.out_channels
    assert seen.layers[0].images.max() == 255
    assert not np.array_equal(seen.saliency["value"]["obs"], seen.saliency["action"]["obs"])


def test_filters_are_grey_where_the_weight_is_zero(make_config):
    saved(make_config(ODD, env=TWO, policy={"hidden": [16]}))
    policy = checkpoint.load("@last")
    first = next(m for m in policy.actor.modules() if isinstance(m, torch.nn.Conv2d))
    with torch.no_grad():
        first.weight.zero_()
        first.weight[0, 0, 0, 0] = 2.0
        first.weight[1, 0, 0, 0] = -5.0
    found = vision.filters(policy)["obs"]
    assert found[0, 0, 0, 0] == 255
    assert found[1, 0, 0, 0] == 0
    assert set(np.unique(found[2])) == {128}


def test_saliency_is_the_size_of_the_gradient(make_config):
    """Only one pixel reaches the network: it alone is white, by finite differences as well."""
    saved(make_config(ODD, env=TWO, policy={"hidden": [16], "encoder": "nature_cnn"}))
    policy, trace = checkpoint.load("@last"), capture("@last", pictures=False)
    first = next(m for m in policy.actor.modules() if isinstance(m, torch.nn.Conv2d))
    with torch.no_grad():
        first.weight[:, 1:] = 0.0
    found = vision.saliency(policy, trace, 2)["obs"]
    assert found[0].max() == 255
    assert found[1:].max() == 0
    place_of_most = np.unravel_index(found[0].argmax(), (40, 40))
    place_of_least = np.unravel_index(found[0].argmin(), (40, 40))
    change = [_change(policy, trace, 2, place) for place in (place_of_most, place_of_least)]
    assert change[0] > 3 * change[1]


@pytest.mark.parametrize("shared", [True, False])
def test_saliency_is_asked_with_what_is_remembered(make_config, shared):
    """The gradient at what the policy said in the episode, not at what it says without a past."""
    policy = {"hidden": [16], "encoder": "nature_cnn", "core": "gru", "shared": shared}
    saved(make_config(ODD, env=TWO, policy=policy))
    policy, trace = checkpoint.load("@last"), capture("@last", pictures=False)
    state = vision._state_before(policy, trace, 3)
    seen = {"obs": torch.from_numpy(trace.columns["obs/obs"][3][None].copy())}
    assert float(policy.value(seen, state)) == pytest.approx(
        float(trace.columns["value"][3]), abs=1e-5
    )
    for target in vision.TARGETS:
        found = vision.saliency(policy, trace, 3, target)["obs"]
        assert found.max() == 255
        forgotten = vision.saliency(policy, shortened(trace, 3), 0, target)["obs"]
        assert not np.array_equal(found, forgotten)


def shortened(trace, step):
    """The same episode, as if it had begun at that step."""
    return replace(trace, columns={name: rows[step:] for name, rows in trace.columns.items()})


def _change(policy, trace, step, place) -> float:
    """How far the log-probability moves with one pixel."""
    inputs = policy.inputs({"obs": torch.from_numpy(trace.columns["obs/obs"][step][None])})
    done = torch.from_numpy(trace.columns["action"][step][None].copy())
    found = []
    for push in (-0.02, 0.02):
        moved = inputs["obs"].clone()
        moved[0, 0, place[0], place[1]] += push
        with torch.no_grad():
            found.append(
                float(policy.policy_head(policy.actor({"obs": moved}), None).log_prob(done))
            )
    return abs(found[1] - found[0])


def test_only_the_pictures_of_a_mixed_observation_and_masks_apply(make_config):
    kwargs = {"nested": True, "masks": True, "lengths": [5]}
    saved(make_config(SCRIPTED, env={"kwargs": kwargs}, policy={"encoder": "impala_cnn"}))
    trace = capture("@last")
    assert list(vision.saliency(checkpoint.load("@last"), trace, 1)) == ["pair/0"]


def test_looking_changes_nothing(make_config):
    saved(make_config(ODD, env=TWO, policy={"hidden": [16]}))
    policy, trace = checkpoint.load("@last"), capture("@last", pictures=False)
    before = {key: value.clone() for key, value in policy.state_dict().items()}
    one = vision.activations(policy, trace, 0)
    vision.saliency(policy, trace, 0)
    assert all(torch.equal(before[key], value) for key, value in policy.state_dict().items())
    assert all(parameter.grad is None for parameter in policy.parameters())
    again = vision.activations(policy, trace, 0)
    assert len(one) == len(again), "no hook stays behind"


def test_whom_one_cannot_look_into(make_config):
    run = saved(make_config("CartPole-v1", env={"family": "classic"}))
    folder = capture_to_disk("@last", pictures=False)
    with pytest.raises(UserError, match=r"no convolutions to look into: it sees vector \[4\]"):
        vision.look(folder, 0)
    with pytest.raises(UserError, match="step 999 is not in this episode"):
        vision.look(folder, 999)
    trace = capture("@last", pictures=False)
    person = replace(trace, meta=replace(trace.meta, mode="human", checkpoint=""))
    with pytest.raises(UserError, match="a person played"):
        vision.look(str(save(person, place(run, person.meta))), 0)


def test_an_untrained_policy_can_be_looked_into(make_config):
    saved(make_config(ODD, env=TWO, policy={"hidden": [16]}))
    folder = capture_to_disk("@last", untrained=True, pictures=False)
    seen = vision.look(folder, 0)
    np.testing.assert_array_equal(
        seen.filters["obs"], vision.filters(checkpoint.load("@last"))["obs"]
    )
    assert load(Path(folder)).meta.mode == "untrained"
