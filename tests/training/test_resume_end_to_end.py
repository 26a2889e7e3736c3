"""A run that was stopped goes on as if it had not been: weights, streams, episodes, counters."""

import json
import os
import random
import shutil
import signal
from collections import deque

import numpy as np
import pytest
import torch

from spotter.config import validate
from spotter.config.overrides import merge
from spotter.rundir.run import Run, select
from spotter.training import checkpoint
from spotter.training.checkpoint import Contents, Keeper
from spotter.training.resume import resume
from spotter.training.run import train
from spotter.training.scoring import Async
from spotter.training.training import Training
from spotter.types import UserError

SCRIPTED = "spotter.testing.scripted:Scripted-v0"
SETUPS = {
    "ppo": ("CartPole-v1", {"algo": "ppo"}),
    "ppo with everything": (
        "CartPole-v1",
        {
            "algo": {
                "name": "ppo",
                "lr": {"start": 1e-3, "end": 0},
                "lr_target_kl": 0.01,
                "optimizer": "adamw",
            },
            "policy": {"normalize_obs": "running", "normalize_values": True},
            "reward": {
                "normalize": True,
                "signals": [
                    {"source": "state_count", "low": [-3, -3, -1, -3], "high": [3, 3, 1, 3]},
                    {"source": "cartpole_centre"},
                ],
            },
        },
    ),
    "a2c": ("Acrobot-v1", {"algo": "a2c"}),
    "episodic counts": (
        "MountainCar-v0",
        {"algo": "ppo", "reward": {"signals": [{"source": "state_count", "scope": "both"}]}},
    ),
    "reinforce": ("CartPole-v1", {"algo": "reinforce"}),
    "continuous": ("Pendulum-v1", {"algo": {"name": "ppo", "optimizer": "rmsprop"}}),
    "masked": ("Taxi-v4", {"algo": "ppo"}),
    "box2d": ("LunarLander-v3", {"algo": "ppo", "env": {"family": "box2d"}}),
    "gru": ("CartPole-v1", {"algo": "ppo", "policy": {"core": "gru", "normalize_obs": "running"}}),
    "lstm": (
        "Pendulum-v1",
        {"algo": "a2c", "policy": {"core": {"name": "lstm", "layers": 2}, "shared": True}},
    ),
    "gru, last action and reward": (
        "CartPole-v1",
        {
            "algo": "ppo",
            "policy": {"core": "gru"},
            "env": {"previous_action": True, "previous_reward": True},
        },
    ),
    "gru, whole episodes": ("CartPole-v1", {"algo": "reinforce", "policy": {"core": "gru"}}),
    "wrapped": (
        "CartPole-v1",
        {
            "algo": "ppo",
            "env": {
                "wrappers": [
                    {"name": "sticky_actions", "probability": 0.3},
                    {"name": "observation_noise", "std": 0.01},
                    {"name": "frame_stack", "count": 3},
                ]
            },
        },
    ),
    "processes": ("CartPole-v1", {"algo": "ppo", "env": {"backend": "process", "workers": 2}}),
    "nested": (SCRIPTED, {"algo": "ppo", "env": {"kwargs": {"nested": True, "masks": True}}}),
}


def state_of(training):
    tensors = {f"policy/{k}": v.numpy().copy() for k, v in training.policy.state_dict().items()}
    return {**tensors, **dict(flat(training.state()))}


def flat(tree, path=""):
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from flat(value, f"{path}/{key}")
    elif isinstance(tree, list | tuple | deque) and not path.endswith("python"):
        for i, value in enumerate(tree):
            yield from flat(value, f"{path}/{i}")
    else:
        yield path, tree


def through_disk(training, make_config):
    """What a checkpoint holds after it was written and read."""
    run = Run.create(training.config, "x")
    keeper = Keeper(run, training.config.checkpoint)
    state = {"training": training.state()}
    keeper.save(Contents(training.env_steps, training.policy, state, {}, ""))
    return checkpoint.read(checkpoint.find_in(run, "@latest"))


@pytest.mark.parametrize("name", SETUPS)
def test_going_on_from_a_checkpoint_is_going_on(make_config, name):
    env_id, sections = SETUPS[name]
    sections = dict(sections)
    config = make_config(env_id, sections.pop("algo"), **sections, budget={"env_steps": 5000})
    with Training(config) as training:
        for _ in range(3):
            training.step()
        saved = through_disk(training, make_config)
        ours = [training.step().metrics for _ in range(3)]
        whole = state_of(training)
    random.seed(99)
    np.random.seed(99)
    torch.manual_seed(99)
    with Training(config, after_env_steps=saved.env_steps) as other:
        assert other.restore(saved.weights, saved.trainer["training"]) == []
        theirs = [other.step().metrics for _ in range(3)]
        resumed = state_of(other)
    assert ours == theirs, "every metric, to the last bit"
    assert set(whole) == set(resumed)
    for key, value in whole.items():
        same = (
            np.array_equal(value, resumed[key])
            if isinstance(value, np.ndarray)
            else (value == resumed[key])
        )
        assert same, key


def test_p33_schedules_go_on_from_the_global_step(make_config):
    lr = {"name": "ppo", "lr": {"start": 1e-3, "end": 0}}
    whole = trained(make_config, algo=lr, budget={"env_steps": 640})
    split = trained(make_config, algo=lr, budget={"env_steps": 640}, stop_after=5)
    again = go_on(split.run.id)
    for run in (whole.run, again.run):
        assert [row["env_steps"] for row in run.metrics()] == [64 * i for i in range(1, 11)]
    rates = [[row["hp/algo.lr"] for row in run.metrics()] for run in (whole.run, again.run)]
    assert rates[0] == rates[1]
    assert rates[0][5] < rates[0][4]


class StopAfter:
    """A sink that presses Ctrl-C after some updates."""

    def __init__(self, updates):
        self.updates = updates

    def open(self, start): ...
    def note(self, text): ...
    def evaluation(self, evaluation): ...
    def event(self, kind, data): ...
    def close(self, ending): ...

    def row(self, row):
        if row.update == self.updates:
            os.kill(os.getpid(), signal.SIGINT)


def trained(make_config, env_id="CartPole-v1", algo="ppo", stop_after=None, **sections):
    sections = {"video": {"when": None}, "eval": {"every_steps": None, "episodes": 2}, **sections}
    config = make_config(env_id, algo, **sections)
    sinks = [StopAfter(stop_after)] if stop_after else []
    return train(config, sinks, lambda: Run.create(config, f"{env_id}:ppo"))


def go_on(selector, *overrides, sinks=()):
    origin = resume(selector, overrides)
    return train(origin.config, sinks, lambda: origin.take_up([], "a test"), origin)


def comparable(run):
    """Rows without the clock."""
    rows = list(run.metrics())
    return [{k: v for k, v in row.items() if not k.startswith("time/")} for row in rows]


def test_an_interrupted_run_goes_on_as_if_never_stopped(make_config):
    settings = {"budget": {"env_steps": 640}, "eval": {"every_steps": 128, "episodes": 2}}
    whole = trained(make_config, **settings)
    stopped = trained(make_config, stop_after=3, **settings)
    assert stopped.reason == "interrupted"
    assert stopped.run.info()["status"] == "interrupted"
    again = go_on(stopped.run.id)
    assert again.run.id == stopped.run.id
    assert again.reason == whole.reason
    assert comparable(again.run) == comparable(whole.run)
    ours, theirs = whole.policy.network.state_dict(), again.policy.network.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert again.test.scores == whole.test.scores


@pytest.mark.parametrize(("call", "env_steps"), [(2, 256), (-2, 640), (-1, 640)])
def test_an_evaluation_that_was_cut_short_is_made_up_for(make_config, monkeypatch, call, env_steps):
    """In the middle of training, the last evaluation, or the test: numbers stand in their row."""
    from spotter.training.evaluate import Evaluator

    settings = {"budget": {"env_steps": 640}, "eval": {"every_steps": 128, "episodes": 2}}
    play = Evaluator._play
    calls = []

    def counted(self, *args):
        calls.append(1)
        if len(calls) == stop_at:
            os.kill(os.getpid(), signal.SIGINT)
        return play(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Evaluator, "_play", counted)
        stop_at = 0
        whole = trained(make_config, **settings)
        stop_at = call if call > 0 else len(calls) + 1 + call
        calls.clear()
        stopped = trained(make_config, **settings)
    assert stopped.reason == "interrupted"
    assert stopped.env_steps == env_steps
    again = go_on(stopped.run.id)
    assert told(again.run) == told(whole.run)


def told(run):
    """Every score: in which row it stands, and the evaluation it is from."""
    rows = [
        (row["update"], {key: row[key] for key in row if key.startswith(("eval/", "test/"))})
        for row in run.metrics()
    ]
    return rows, [(e["env_steps"], e["seeds"], e["scores"]) for e in run.evaluations()]


def test_a_deferred_evaluation_that_a_stop_kept_waiting_is_of_the_weights_that_were_due(
    make_config, monkeypatch
):
    """The stop comes while training waits for the result before."""
    eval = {"every_steps": 128, "episodes": 2, "mode": "async"}
    settings = {"budget": {"env_steps": 640}, "eval": eval}
    whole = trained(make_config, **settings)

    def interrupted(self):
        os.kill(os.getpid(), signal.SIGINT)
        return False

    with monkeypatch.context() as patch:
        patch.setattr(Async, "_answered", interrupted)
        stopped = trained(make_config, **settings)
    assert stopped.reason == "interrupted"
    assert stopped.env_steps == 256, "when the second evaluation was due"
    again = go_on(stopped.run.id)
    ours, theirs = (
        [(e["env_steps"], e["scores"]) for e in result.run.evaluations()]
        for result in (whole, again)
    )
    assert ours == theirs


def test_a_resume_is_written_down(make_config):
    stopped = trained(make_config, stop_after=2)
    go_on(stopped.run.id, "algo.lr=1e-4")
    (entry,) = stopped.run.info()["resumes"]
    assert entry["env_steps"] == 128
    assert entry["why"] == "a test"
    assert entry["changes"] == {"algo.lr": [3e-4, 1e-4]}
    assert checkpoint.read_config(checkpoint.find("@last")).algo.lr.start == 1e-4
    rows = list(stopped.run.metrics())
    assert [row["hp/algo.lr"] for row in rows[1:3]] == [3e-4, 1e-4]


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("policy.hidden=[8]", "policy.hidden cannot change in a resumed run"),
        ("env.id=Acrobot-v1", "env.id cannot change"),
        ("seed=3", "seed cannot change"),
        ("budget.env_steps=64", "has spent its budget of 64 env steps"),
        ("algo.lrr=1", "did you mean algo.lr?"),
    ],
)
def test_changes_that_cannot_be_are_refused(make_config, override, sentence):
    stopped = trained(make_config, stop_after=2)
    before = (stopped.run.folder / "run.json").read_text()
    with pytest.raises(UserError, match=sentence.replace("?", r"\?")):
        resume(stopped.run.id, [override])
    assert (stopped.run.folder / "run.json").read_text() == before


def test_a_finished_run_says_all_that_it_takes_to_train_on(make_config):
    result = trained(make_config, budget={"env_steps": 640})
    path = result.run.folder / "run.json"
    path.write_text(path.read_text().replace('"solved": false', '"solved": true'))
    with pytest.raises(UserError) as caught:
        resume(result.run.id)
    more = "budget.env_steps=1280 eval.stop_when_solved=false"
    assert str(caught.value) == (
        f"run {result.run.id} has spent its budget of 640 env steps and is solved; to train on, "
        f"add {more}: spotter train --resume {result.run.id} {more}"
    )
    assert resume(result.run.id, more.split()).config.budget.env_steps == 1280


def test_more_budget_says_what_it_does_to_schedules(make_config):
    lr = {"name": "ppo", "lr": {"start": 1e-3, "end": 0}}
    result = trained(make_config, algo=lr, budget={"env_steps": 640})
    with pytest.raises(UserError, match=r"to train on, add budget\.env_steps=1280"):
        resume(result.run.id)
    origin = resume(result.run.id, ["budget.env_steps=1280"])
    assert origin.notes == (
        "the budget of 640 env steps becomes 1,280 env steps",
        "algo.lr continues at 0.0005 instead of 0",
    )


def test_other_numbers_of_copies_begin_new_episodes(make_config):
    stopped = trained(make_config, stop_after=2)

    sink = StopAfter(0)
    notes: list[str] = []
    sink.note = notes.append
    result = go_on(stopped.run.id, "env.count=8", sinks=[sink])
    assert "8 of 8 envs begin new episodes" in notes
    assert result.reason == "budget"


@pytest.mark.parametrize("damage", ["missing", "shape", "kind", "row"])
def test_a_state_that_cannot_be_gone_on_from_is_one_sentence(make_config, damage):
    stopped = trained(make_config, stop_after=2)
    folder = checkpoint.find_in(stopped.run, "@latest")
    state = json.loads((folder / "state.json").read_text())
    trainer = state["trainer"]
    if damage == "missing":
        del trainer["training"]["algorithm"]
    elif damage == "shape":
        trainer["training"]["algorithm"]["optimizer"]["mean"]["shape"] = [1, -1]
    elif damage == "kind":
        trainer["training"]["collector"]["tapes"] = 3
    else:
        (folder / "metrics.json").write_text("[]")
    (folder / "state.json").write_text(json.dumps(state))
    with pytest.raises(UserError, match=r"step-000000128 cannot be loaded: \w+Error"):
        go_on(stopped.run.id)


def test_only_the_latest_checkpoint_can_be_gone_on_from(make_config):
    result = trained(make_config, stop_after=2)
    with pytest.raises(UserError, match="start a new run with --from"):
        resume(f"{result.run.id}/@best")


def test_p35_loading_gives_a_new_policy_and_changes_none(make_config):
    """There is no `policy.load`, which could be called on an instance and do nothing."""
    import spotter

    result = trained(make_config)
    policy = spotter.load(f"{result.run.id}/@latest")
    assert not hasattr(policy, "load")
    ours, theirs = policy.network.state_dict(), result.policy.network.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_p15_statistics_stand_still_in_evaluation_and_come_back(make_config):
    normalised = {"policy": {"normalize_obs": "running"}, "eval": {"every_steps": 64}}
    result = trained(make_config, **normalised, budget={"env_steps": 128})
    last = checkpoint.load(f"{result.run.id}/@latest")
    count = int(last.state_dict()["inputs.obs.count"])
    assert count == result.env_steps, "only training steps were seen"
    again = validate(merge(result.config.as_data(), {"budget": {"env_steps": 256}}))
    assert again
    resumed = go_on(result.run.id, "budget.env_steps=256")
    last = checkpoint.load(f"{resumed.run.id}/@latest")
    assert int(last.state_dict()["inputs.obs.count"]) == 256
    assert select("@last").id == resumed.run.id


def test_a_step_that_a_kill_left_unannounced_is_not_believed(make_config):
    """Killed before `latest` named it: the step is trained again, perhaps with other weights."""
    stopped = trained(make_config, stop_after=2)
    steps = stopped.run.folder / "checkpoints"
    shutil.copytree(steps / "step-000000128", steps / "step-000000192")
    (steps / ".step-000000256.tmp").mkdir()
    result = go_on(
        stopped.run.id, "algo.lr=0.01", "checkpoint.every_s=1e-9", "checkpoint.keep=null"
    )
    row = next(row for row in result.run.metrics() if row["env_steps"] == 192)
    assert json.loads((steps / "step-000000192" / "metrics.json").read_text()) == row
    assert row["hp/algo.lr"] == 0.01
    assert not list(steps.glob(".*"))


def test_a_run_stopped_before_its_final_test_is_tested_on_resume(make_config, monkeypatch):
    from spotter.training.evaluate import Evaluator

    play = Evaluator._play

    def interrupted(self, *args):
        os.kill(os.getpid(), signal.SIGINT)
        return play(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Evaluator, "_play", interrupted)
        stopped = trained(make_config, budget={"env_steps": 256})
    assert (stopped.reason, stopped.env_steps, stopped.score) == ("interrupted", 256, None)
    again = go_on(stopped.run.id)
    assert again.reason == "budget"
    assert again.score is not None
    assert again.run.info()["status"] == "finished"


def test_evaluation_settings_may_change(make_config):
    stopped = trained(make_config, stop_after=2)
    result = go_on(stopped.run.id, "eval.every_steps=128", "budget.env_steps=640")
    at = [e["env_steps"] for e in result.run.evaluations() if e["seeds"] == "eval"]
    assert at == [256, 384, 512, 640]


def test_a_score_is_checked_as_it_was_made(make_config):
    from spotter.training.evaluate import play_again

    settings = {"eval": {"every_steps": 64, "episodes": 4}, "checkpoint": {"keep": None}}
    stopped = trained(make_config, stop_after=2, **settings)
    result = go_on(stopped.run.id, "eval.episodes=2", "eval.deterministic=false")
    for which in ("step=64", "@latest"):
        assert all(played.as_written is True for played in play_again(f"{result.run.id}/{which}"))


def test_other_reward_signals_may_come(make_config):
    stopped = trained(make_config, stop_after=3)
    signals = "[{source: step_penalty, name: slow}, {source: cartpole_centre}]"
    result = go_on(stopped.run.id, f"reward.signals={signals}")
    assert result.reason == "budget"
    assert "reward/slow" in list(result.run.metrics())[-1]


def test_what_the_user_sets_outlives_what_a_plateau_changed(make_config):
    plateau = {
        "patience_steps": 64,
        "min_delta": 1e6,
        "cooldown_steps": 10_000,
        "actions": [{"setting": "algo.lr", "value": 0.5}],
    }
    stopped = trained(make_config, stop_after=4, plateau=plateau, budget={"env_steps": 640})
    assert list(stopped.run.metrics())[-1]["hp/algo.lr"] == 1.5e-4, "the plateau halved it"
    middle = resume(stopped.run.id, ["algo.lr=3e-4"])
    sink = StopAfter(6)
    again = train(middle.config, [sink], lambda: middle.take_up([], ""), middle)
    assert list(again.run.metrics())[-1]["hp/algo.lr"] == 3e-4, "although config.yaml says the same"
    last = go_on(stopped.run.id)
    assert list(last.run.metrics())[-1]["hp/algo.lr"] == 3e-4, "and it stays"
