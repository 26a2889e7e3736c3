"""Capturing an episode: what evaluation plays, with everything written down."""

import io
import subprocess
import sys

import av
import numpy as np
import pytest
import torch

from spotter.episodes import format as traces
from spotter.episodes import labels
from spotter.episodes.advantages import judged
from spotter.episodes.branch import branch
from spotter.episodes.capture import capture, capture_to_disk, eval_seeds
from spotter.episodes.rows import table
from spotter.rundir.run import Run
from spotter.training import checkpoint
from spotter.training.evaluate import Evaluator
from spotter.training.run import train
from spotter.types import UserError
from tests.episodes.making import saved
from tests.episodes.odd import ID as ODD
from tests.policy.counting import Counting

SCRIPTED = "spotter.testing.scripted:Scripted-v0"
CLASSIC = {"family": "classic"}


def test_a_greedy_episode_is_the_one_evaluation_plays(make_config):
    config = make_config("CartPole-v1", env=CLASSIC, eval={"episodes": 3})
    run = saved(config, updates=2)
    with Evaluator(config) as evaluator:
        scores = evaluator.run(checkpoint.load("@last"), 0, "eval").scores
    played = [capture("@last", seed=seed, pictures=False) for seed in eval_seeds(run, 3)]
    assert [trace.meta.score for trace in played] == list(scores)
    assert capture("@last", pictures=False).meta.seed == played[0].meta.seed
    assert played[0].columns["greedy"].all()
    assert played[0].meta.warnings == (), "nobody asked for pictures"


def test_every_column_tells_the_same_story(make_config):
    run = saved(make_config("CartPole-v1", env=CLASSIC))
    trace = capture("@last", seed=5, mode="sampled")
    meta, columns = trace.meta, trace.columns
    assert (meta.run, meta.checkpoint, meta.mode, meta.seed) == (
        run.id,
        "step-000000000",
        "sampled",
        5,
    )
    assert meta.action_names == ("push left", "push right")
    assert meta.end == "terminated"
    assert meta.length == meta.score == columns["reward"].sum() == len(trace.frames)
    policy = checkpoint.load("@last")
    obs = {"obs": torch.from_numpy(columns["obs/obs"])}
    with torch.no_grad():
        distribution, value, _ = policy(obs)
        log_prob = distribution.log_prob(torch.from_numpy(columns["action"]))
    np.testing.assert_allclose(columns["value"], value, atol=1e-5)
    np.testing.assert_allclose(columns["log_prob"], log_prob, atol=1e-5)
    np.testing.assert_allclose(columns["probability"].sum(axis=1), 1, atol=1e-5)
    picked = columns["probability"][np.arange(meta.length), columns["action"]]
    np.testing.assert_allclose(np.exp(columns["log_prob"]), picked, atol=1e-5)
    np.testing.assert_array_equal(columns["greedy"], picked == columns["probability"].max(axis=1))
    assert not columns["greedy"].all()
    assert judged(trace).score[-1] == meta.score


def test_the_same_seed_gives_the_same_episode_and_another_another(make_config):
    saved(make_config("CartPole-v1", env=CLASSIC))
    first, again, other = (
        capture("@last", seed=seed, mode="sampled", pictures=False) for seed in (1, 1, 2)
    )
    assert set(first.columns) == set(again.columns)
    for name, column in first.columns.items():
        np.testing.assert_array_equal(column, again.columns[name])
    assert not np.array_equal(first.columns["obs/obs"][0], other.columns["obs/obs"][0])


def test_pictures_are_taken_before_each_step_and_after_the_last(make_config):
    saved(make_config(ODD, env={"kwargs": {"actions": "two"}}))
    trace = capture("@last")
    assert trace.meta.fps == 12
    shades = [_shade(trace.frames[t]) for t in range(10)] + [_shade(trace.frames.final)]
    np.testing.assert_allclose(shades, np.arange(11) * 10, atol=2)


def _shade(picture: bytes) -> float:
    with av.open(io.BytesIO(picture)) as file:
        image = next(file.decode(video=0)).to_ndarray(format="rgb24")
    assert image.shape == (30, 20, 3)
    return float(image.mean())


@pytest.mark.parametrize(
    ("actions", "width", "names"),
    [("switches", 3, ("0", "1", "2")), ("dials", 5, ("0", "1")), ("two", 2, ("0", "1"))],
)
def test_switches_and_dials(make_config, actions, width, names):
    saved(make_config(ODD, env={"kwargs": {"actions": actions}}))
    trace = capture("@last", mode="sampled")
    assert trace.meta.action_names == names
    assert trace.columns["probability"].shape == (10, width)
    assert len(labels.choices(trace.meta)) == width
    assert trace.columns["action"].dtype == np.int64
    assert labels.action_label(trace, 0)
    assert len(table(trace)) == 11


def test_numbers_in_info_and_what_is_no_number(make_config):
    saved(make_config(ODD))
    trace = capture("@last", pictures=False)
    assert trace.meta.info == ("bonus", "fuel")
    bonus, fuel = trace.columns["info"].T
    np.testing.assert_allclose(fuel, 1 - np.arange(1, 11) / 10)
    assert bonus[2] == 1
    assert np.isnan(bonus).sum() == 9, "missing is not zero"


def test_a_screen_that_breaks_leaves_a_trace_without_pictures_and_says_why(make_config):
    saved(make_config(ODD, env={"kwargs": {"breaks_at": 4}}))
    trace = capture("@last")
    assert trace.meta.length == 10
    assert len(trace.frames) == 0
    assert trace.meta.warnings == (f"{ODD} gives no images: RuntimeError: the lamp has gone out",)


def test_dicts_masks_and_no_screen(make_config):
    kwargs = {"nested": True, "masks": True, "lengths": [30]}
    saved(make_config(SCRIPTED, env={"kwargs": kwargs}))
    trace = capture("@last", seed=4, mode="sampled")
    columns = trace.columns
    assert set(trace.observations) == {"numbers", "pair/0", "pair/1"}
    steps = np.arange(30)
    np.testing.assert_array_equal(columns["obs/numbers"][:, 2], steps)
    np.testing.assert_array_equal(columns["obs/numbers"][1:, 3], columns["action"][:-1])
    forbidden = (steps[:, None] + np.arange(3)) % 3 == 0
    np.testing.assert_array_equal(columns["mask"], ~forbidden)
    assert (columns["probability"][forbidden] == 0).all()
    assert columns["mask"][steps, columns["action"]].all()
    assert trace.meta.score == sum(range(1, 31))
    assert len(trace.frames) == 0
    assert "gives no images" in trace.meta.warnings[0]


def test_continuous_actions_have_a_centre_and_a_spread(make_config):
    saved(make_config("Pendulum-v1", env=CLASSIC))
    trace = capture("@last", mode="sampled", most_steps=7, pictures=False)
    assert trace.meta.end == "cut"
    assert trace.meta.action_kind == "box"
    assert trace.columns["action"].shape == trace.columns["mean"].shape == (7, 1)
    assert (trace.columns["std"] > 0).all()
    assert "probability" not in trace.columns
    assert labels.action_label(trace, 0).startswith("torque ")


@pytest.mark.parametrize("core", ["gru", "lstm"])
def test_what_a_core_holds_is_what_its_head_sees(make_config, core):
    run = saved(make_config("CartPole-v1", env=CLASSIC, policy={"core": core}))
    trace = capture("@last", seed=5, pictures=False)
    policy = checkpoint.load("@last")
    state = policy.initial_state(1)
    for t in range(trace.meta.length):
        obs = {"obs": torch.from_numpy(trace.columns["obs/obs"][t : t + 1])}
        with torch.no_grad():
            _, _, state = policy(obs, None, state)
        held = trace.columns["state"][t]
        np.testing.assert_allclose(held, state[0].flatten(), atol=1e-3)
    assert trace.columns["state"].shape == (trace.meta.length, 64)
    assert run.id == trace.meta.run


def test_a_bandit_is_one_step(make_config):
    saved(make_config("Bandit-v0", env={"family": "bandit"}))
    trace = capture("@last")
    assert trace.meta.length == 1
    assert judged(trace).returns[0] == trace.columns["training_reward"][0]


def test_p01_where_an_episode_is_cut_off_the_critic_says_what_was_to_come(make_config):
    saved(make_config("CartPole-v1", env={**CLASSIC, "time_limit": 6}))
    policy = checkpoint.load("@last")
    trace = capture("@last", pictures=False)
    assert (trace.meta.end, trace.meta.length) == ("truncated", 6)
    longer = capture("@last", pictures=False, overrides=["env.time_limit=7"])
    assert longer.meta.changes == ("env.time_limit=7",)
    after = {"obs": torch.from_numpy(longer.columns["obs/obs"][6:])}
    assert trace.meta.final_value == pytest.approx(float(policy.value(after)), abs=1e-5)
    cut = capture("@last", pictures=False, most_steps=6, overrides=["env.time_limit=50"])
    assert cut.meta.end == "cut"
    assert cut.meta.final_value == pytest.approx(trace.meta.final_value, abs=1e-5)
    done = capture("@last", pictures=False, overrides=["env.time_limit=500"])
    assert (done.meta.end, done.meta.final_value) == ("terminated", 0.0)


def test_somebody_can_stop_it(make_config):
    saved(make_config("CartPole-v1", env=CLASSIC))
    heard = []
    trace = capture("@last", on_step=lambda n: heard.append(n) or n < 4, pictures=False)
    assert heard == [1, 2, 3, 4]
    assert (trace.meta.end, trace.meta.length) == ("stopped", 4)


def test_reward_parts_and_what_the_algorithm_would_have_got(make_config):
    reward = {
        "weight": 2.0,
        "scale": 0.5,
        "clip": 0.75,
        "signals": [{"source": "step_penalty", "weight": 0.25, "after": 3}],
    }
    saved(
        make_config("CartPole-v1", env=CLASSIC, reward=reward, algo={"name": "a2c", "gamma": 0.9})
    )
    trace = capture("@last", pictures=False)
    assert trace.meta.parts == ("env", "step_penalty")
    assert trace.meta.gamma == 0.9
    env, penalty = trace.columns["part"].T
    assert (env == 2).all()
    assert penalty.tolist()[:5] == [0, 0, 0, -0.25, -0.25]
    expected = np.clip((env + penalty) * 0.5, -0.75, 0.75)
    np.testing.assert_allclose(trace.columns["training_reward"], expected)
    assert trace.columns["reward"].tolist() == [1.0] * trace.meta.length


def test_normalised_rewards_are_those_of_the_checkpoint(make_config):
    """Of a checkpoint as a real training writes it."""
    settings = {"budget": {"env_steps": 192}, "eval": {"episodes": 1}, "video": {"when": None}}
    config = make_config("CartPole-v1", env=CLASSIC, reward={"normalize": True}, **settings)
    train(config, new_run=lambda: Run.create(config, "CartPole-v1:ppo"))
    trainer = checkpoint.read(checkpoint.find("@last")).trainer
    state = trainer["training"]["collector"]["mixer"]["scaler"]
    paid = capture("@last", pictures=False).columns["training_reward"]
    assert paid[0] == pytest.approx(1 / np.sqrt(state["var"]), rel=0.05)
    assert abs(paid[0] - 1) > 0.1


def test_an_untrained_policy_is_the_one_training_began_with(make_config):
    run = saved(make_config(SCRIPTED, env={"kwargs": {"masks": True, "lengths": [20]}}), updates=0)
    fresh = capture("@last", untrained=True, seed=1)
    assert (fresh.meta.mode, fresh.meta.checkpoint) == ("untrained", "")
    assert fresh.columns["mask"][np.arange(20), fresh.columns["action"]].all()
    first = capture("@last", mode="sampled", seed=1)
    np.testing.assert_array_equal(fresh.columns["probability"], first.columns["probability"])
    folder = traces.save(fresh, traces.place(run, fresh.meta))
    assert folder.name == "000000000-seed1-untrained"


def test_stacked_pictures_are_kept_oldest_first(make_config):
    env = {"kwargs": {"actions": "two"}, "wrappers": [{"name": "frame_stack", "count": 3}]}
    saved(make_config(ODD, env=env))
    trace = capture("@last", pictures=False)
    assert trace.meta.stacks == {"obs": 3}
    newest, before = trace.columns["obs/obs"][5, 6:], trace.columns["obs/obs"][5, 3:6]
    np.testing.assert_array_equal(before, trace.columns["obs/obs"][4, 6:])
    assert not np.array_equal(newest, before)


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"mode": "human"}, "unknown mode 'human'; write greedy or sampled"),
        ({"seed": -1}, "a seed is a whole number"),
        ({"most_steps": 0}, "at least one step"),
        ({"overrides": ["env.nonsense=1"]}, "nonsense"),
        ({"overrides": ["policy.hidden=[8]"]}, "policy.hidden cannot be changed"),
        (
            {"overrides": ["env.wrappers=[{name: frame_stack, count: 2}]"]},
            r"the policy sees vector \[4\], but this game shows vector \[8\]",
        ),
        ({"first_actions": [7]}, "7 is not an action here"),
    ],
)
def test_mistakes_are_one_sentence(make_config, how, sentence):
    saved(make_config("CartPole-v1", env=CLASSIC))
    with pytest.raises(UserError, match=sentence):
        capture("@last", **how)


def test_names_nobody_can_read_become_numbers(make_config, monkeypatch):
    saved(make_config("CartPole-v1", env=CLASSIC))

    def fail(*_):
        raise RuntimeError("no names today")

    monkeypatch.setattr("spotter.episodes.stage.names_of", fail)
    assert capture("@last", untrained=True, pictures=False).meta.action_names == ("0", "1")
    named = capture("@last", pictures=False).meta.action_names
    assert named == ("push left", "push right"), "the checkpoint knows them"


def test_captured_to_disk_by_another_process(make_config):
    run = saved(make_config("CartPole-v1", env=CLASSIC))
    code = (
        "from spotter.episodes.capture import capture_to_disk\n"
        f"print(capture_to_disk({str(run.folder)!r} + '/@latest', seed=3, mode='sampled'))"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    folder = traces.listing(run)[0]
    assert out.stdout.strip() == str(folder)
    assert folder.name == "000000000-seed3-sampled"
    theirs = traces.load(folder)
    ours = capture("@last", seed=3, mode="sampled")
    for name, column in ours.columns.items():
        np.testing.assert_array_equal(theirs.columns[name], column)


def test_another_action_from_a_step_on(make_config):
    run = saved(make_config("CartPole-v1", env=CLASSIC), updates=1)
    origin = capture_to_disk("@last", seed=11, overrides=["env.time_limit=40"], pictures=False)
    before = traces.load(traces.find(run, origin.rsplit("/", 1)[-1].rsplit("\\", 1)[-1]))
    other = 1 - int(before.columns["action"][4])
    after = branch(origin, 4, other, pictures=False)
    assert after.columns["told"].tolist()[:6] == [True] * 5 + [False]
    assert after.columns["action"][4] == other
    assert not after.columns["greedy"][4]
    assert after.meta.changes == before.meta.changes
    for name in ("obs/obs", "value"):
        np.testing.assert_array_equal(after.columns[name][:5], before.columns[name][:5])
    assert not np.array_equal(after.columns["obs/obs"][5], before.columns["obs/obs"][5])
    again = branch(origin, 0, pictures=False)
    places = [traces.save(one, traces.place(run, one.meta)) for one in (after, again)]
    assert places[0].name.endswith("greedy-2")
    assert str(places[1]) == origin, "the same episode again"
    with pytest.raises(UserError, match="step 99 is not in this episode"):
        branch(origin, 99)


def test_an_environment_that_does_not_repeat_itself_cannot_be_branched(make_config):
    saved(make_config(ODD, env={"kwargs": {"drifts": True, "actions": "two"}}))
    origin = capture_to_disk("@last", pictures=False)
    with pytest.raises(UserError, match="cannot be brought back to step 3"):
        branch(origin, 3, 1, pictures=False)


def test_capturing_leaves_random_streams_and_threads_alone(make_config):
    saved(make_config("CartPole-v1", env=CLASSIC))
    torch.manual_seed(0)
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    capture("@last", untrained=True, pictures=False)
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.get_num_threads() == threads


def test_a_memory_is_carried_through_an_episode_and_to_the_value_after_it(make_config, monkeypatch):
    config = make_config("CartPole-v1", env={"time_limit": 7})
    saved(config)
    monkeypatch.setattr(checkpoint, "Policy", Counting)
    trace = capture("@last", seed=3, pictures=False)
    assert trace.columns["action"].tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert trace.columns["value"].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert (trace.meta.end, trace.meta.final_value) == ("truncated", 7.0)
    cut = capture("@last", seed=3, pictures=False, most_steps=4, first_actions=[1, 1])
    assert cut.columns["action"].tolist() == [1, 1, 0, 1], "it counts what others do as well"
    assert cut.meta.final_value == 4.0
