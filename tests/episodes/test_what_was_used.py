"""Episodes say what the environment received, and by what the algorithm judged."""

import json
from pathlib import Path

import numpy as np
import pytest

from spotter.episodes import vision
from spotter.episodes.advantages import judged
from spotter.episodes.capture import capture, capture_to_disk
from spotter.episodes.format import VERSION, load, load_meta, place, save
from spotter.episodes.labels import action_label, beliefs
from spotter.episodes.pilot import find_pilot, source_of
from spotter.episodes.rows import table
from spotter.rundir.files import read_json, write_json
from spotter.training import checkpoint
from spotter.types import UserError
from tests.episodes.making import saved, trace

CLASSIC = {"family": "classic"}
PENDULUM = {"most_steps": 12, "pictures": False, "mode": "sampled", "seed": 4}


def with_mean(run, mean: float) -> None:
    """As if the update behind the checkpoint had had this mean return."""
    path = next((run.folder / "checkpoints").glob("step-*/metrics.json"))
    write_json(path, {**read_json(path), "return/mean": mean})


def reinforce(make_config, **algo):
    config = make_config("CartPole-v1", {"name": "reinforce", **algo}, env=CLASSIC)
    run = saved(config)
    with_mean(run, 21.5)
    return run


# --- actions -------------------------------------------------------------------------------------


def test_continuous_actions_are_told_as_the_environment_received_them(make_config):
    saved(make_config("Pendulum-v1", env=CLASSIC, policy={"log_std": 1.0}))
    played = capture("@last", **PENDULUM)
    action, received = played.columns["action"], played.columns["received"]
    assert np.abs(action).max() > 1, "so that clipping is seen"
    np.testing.assert_allclose(received, 2 * np.clip(action, -1, 1), rtol=1e-6)
    for step in range(played.meta.length):
        assert action_label(played, step) == f"torque {received[step, 0]:+.2f}"
    assert (played.meta.action_low, played.meta.action_high) == ((-2.0,), (2.0,))
    believed = beliefs(played)
    np.testing.assert_allclose(believed["std"], 2 * np.e, rtol=1e-5)
    np.testing.assert_allclose(believed["mean"], 2 * played.columns["mean"], rtol=1e-5)
    rows = [dict(zip(table(played)[0], row, strict=True)) for row in table(played)[1:]]
    assert rows[0]["received/0"] == received[0, 0]
    assert rows[0]["choice/0"] == action[0, 0]


def test_noise_on_the_way_is_seen(make_config):
    noisy = [{"name": "action_noise", "std": 0.3}]
    saved(make_config("Pendulum-v1", env={**CLASSIC, "wrappers": noisy}))
    played = capture("@last", **PENDULUM)
    scaled = 2 * np.clip(played.columns["action"], -1, 1)
    assert (np.abs(played.columns["received"] - scaled) > 1e-3).any()


def test_a_start_and_a_map_are_in_what_was_received(make_config):
    env = {"id": "tests.envs.spoken:Shifted-v0", "family": "gymnasium"}
    saved(make_config(env["id"], env=env))
    played = capture("@last", pictures=False)
    assert (played.columns["received"] == played.columns["action"] + 10).all()


# --- advantages ----------------------------------------------------------------------------------


def test_an_untrained_critic_is_not_shown(make_config):
    reinforce(make_config)
    played = capture("@last", pictures=False, seed=3)
    assert "value" not in played.columns
    assert (played.meta.baseline, played.meta.baseline_mean) == ("mean", 21.5)
    assert played.meta.final_value == 0.0
    found = judged(played)
    np.testing.assert_allclose(found.advantage, found.returns - 21.5)
    assert (found.lam, found.return_minus_value) == (None, None)
    assert "return_minus_value" not in found.columns()
    assert found.method == (
        "returns with gamma 0.99; advantages are returns minus 21.5, the mean return of its update "
        "(no critic)"
    )
    other = judged(played, gamma=0.5)
    assert other.baseline == pytest.approx(other.returns.mean()), "its own had another gamma"
    assert "the mean return of this episode" in other.method
    changed = capture("@last", pictures=False, seed=3, overrides=["reward.scale=10"])
    assert changed.meta.baseline_mean is None, "returns are ten times as large"


def test_nothing_may_be_taken_from_returns(make_config):
    reinforce(make_config, baseline="none", returns="episode")
    found = judged(capture("@last", pictures=False, seed=3))
    assert (found.advantage == found.returns[0]).all()
    assert found.method.endswith("advantages are returns of the episode minus nothing (no critic)")


def test_a_critic_that_was_trained_is_shown(make_config):
    reinforce(make_config, baseline="value")
    played = capture("@last", pictures=False, seed=3)
    assert "value" in played.columns
    assert judged(played).return_minus_value is not None


def test_an_episode_that_was_cut_off_expects_nothing_of_a_missing_critic(make_config):
    reinforce(make_config)
    cut = capture("@last", pictures=False, seed=3, most_steps=4)
    assert (cut.meta.end, cut.meta.final_value) == ("cut", 0.0)
    assert judged(cut).returns[-1] == cut.columns["training_reward"][-1]


def test_who_plays_along_has_no_critic_either(make_config):
    reinforce(make_config)
    pilot = find_pilot(source_of("@last"), 1, True, None)
    seen = {"obs": np.zeros((1, 4), np.float32)}
    assert pilot.think(seen, None, ()).value is None


def test_saliency_of_a_value_that_is_none_is_refused(make_config):
    reinforce(make_config)
    folder = capture_to_disk("@last", pictures=False)
    with pytest.raises(UserError, match="this run has no critic"):
        vision.saliency(checkpoint.load("@last"), load(Path(folder)), 0, "value")


# --- older traces --------------------------------------------------------------------------------


def as_version_1(run, made):
    """What version 1 would have written."""
    folder = save(made, place(run, made.meta))
    data = json.loads((folder / "trace.json").read_text())
    for name in ("baseline", "baseline_mean", "credit", "action_low", "action_high"):
        del data[name]
    write_json(folder / "trace.json", {**data, "version": 1})
    return folder


def test_an_older_trace_loses_its_untrained_critic(make_config):
    run = reinforce(make_config)
    made = trace(value=(5.0, 5.0, 5.0), settings=run.settings(), end="cut", final_value=9.0)
    folder = as_version_1(run, made)
    again = load(folder)
    assert VERSION == 2
    assert (again.meta.baseline, again.meta.credit, again.meta.final_value) == ("mean", "to_go", 0)
    assert "value" not in again.columns and "value" not in list(again.columns)
    returns = judged(again).returns
    np.testing.assert_allclose(judged(again).advantage, returns - returns.mean())


def test_an_older_trace_says_in_which_units_its_actions_are(make_config):
    run = saved(make_config("Pendulum-v1", env=CLASSIC))
    columns = {"action": np.array([[0.5], [1.5], [-1.0]], np.float32)}
    made = trace(columns=columns, action_kind="box", action_names=("torque",), nvec=())
    old = load(as_version_1(run, made))
    assert "value" in old.columns
    assert action_label(old, 1) == "torque +1.50"
    assert "in the policy's units" in old.meta.warnings[0]


@pytest.mark.parametrize(
    "damage",
    [
        {"baseline": "guess"},
        {"credit": 3},
        {"baseline_mean": "much"},
        {"action_low": ["a"]},
        {"version": 1, "settings": {"algo": {"name": "reinforce", "baseline": []}}},
    ],
)
def test_damaged_fields_are_one_sentence(make_config, damage):
    run = saved(make_config("CartPole-v1", env=CLASSIC))
    folder = save(trace(), place(run, trace().meta))
    data = json.loads((folder / "trace.json").read_text())
    write_json(folder / "trace.json", {**data, **damage})
    with pytest.raises(UserError, match="cannot be read"):
        load_meta(folder)
