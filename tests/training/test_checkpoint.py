"""Saved policies: the right weights, whole or not at all, safe to open."""

import json
import math
import os
import pickle
import re
import shutil
import signal
from pathlib import Path

import pytest
import safetensors.torch
import torch

from spotter import api
from spotter.envs.fingerprint import fingerprint
from spotter.rundir.files import read_json
from spotter.rundir.run import Run, all_runs
from spotter.training.checkpoint import Contents, Keeper, find, load, read, read_scores
from spotter.training.evaluate import Evaluator, play_again
from spotter.training.resume import fork, resume
from spotter.training.run import train
from spotter.training.training import Training
from spotter.types import Evaluation, UserError

MUSEUM = Path(__file__).parents[1] / "museum"
DAMAGES = ["truncated", "pickle", "shapes", "missing", "newer", "traversal", "trainer", "tree"]
NO_FILM = {"video": {"when": None}}
FAKE = "tests.config.fake_family"
DICT_ENV = "spotter.testing.scripted:Scripted-v0"


def saved(make_config, env_id="CartPole-v1", **sections):
    config = make_config(env_id, **{"budget": {"env_steps": 300}, **NO_FILM, **sections})
    return train(config, new_run=lambda: Run.create(config, f"{env_id}:ppo"))


def read_score(step):
    """The certificate that ranks these weights."""
    scores = read_scores(step)
    return scores.get("eval") or scores.get("test")


def evaluation(score, env_steps, seeds="eval"):
    return Evaluation(env_steps, (score,), (1,), None, seeds, True)


@pytest.mark.parametrize(
    ("env_id", "sections"),
    [
        ("CartPole-v1", {"policy": {"normalize_obs": "running", "normalize_values": True}}),
        ("Pendulum-v1", {"policy": {"squash": True, "normalize_obs": "bounds"}}),
        (DICT_ENV, {"env": {"kwargs": {"nested": True, "masks": True}}}),
    ],
)
def test_a_loaded_policy_is_the_trained_one(make_config, env_id, sections):
    result = saved(make_config, env_id, **sections)
    loaded = load("@last")
    ours, theirs = result.policy.network.state_dict(), loaded.state_dict()
    assert set(ours) == set(theirs)
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    assert loaded.spaces == result.policy.network.spaces
    assert not loaded.training


def test_the_score_beside_a_checkpoint_belongs_to_its_weights(make_config):
    result = saved(make_config)
    step = find("@last/@best")
    written = read_score(step)
    with Evaluator(result.config) as evaluator:
        again = evaluator.run(load("@last/@best"), 0, written["seeds"])
    assert list(again.scores) == written["scores"]


def contents(policy, env_steps, **trainer):
    return Contents(env_steps, policy, trainer, {"env_steps": env_steps}, "copy\n")


def test_best_is_the_best_evaluation_and_latest_the_last(make_config):
    config = make_config("CartPole-v1")
    with Training(config) as training:
        run = Run.create(config, "x")
        keeper = Keeper(run, config.checkpoint)
        for steps, score, is_best in ((100, 5.0, True), (200, 9.0, True), (300, 7.0, False)):
            keeper.save(contents(training.policy, steps), awaits_score=True)
            keeper.write_scores(steps, [evaluation(score, steps)])
            if is_best:
                keeper.set_best(steps, {"score": score, "seeds": "eval"})
            keeper.release(steps)
        keeper.write_scores(300, [evaluation(99.0, 300, "test")])
    assert find(f"{run.id}/@best").name == "step-000000200"
    assert find(f"{run.id}/@latest").name == "step-000000300"
    assert find(run.id) == find(f"{run.id}/@best")
    assert find(f"{run.id}/step=300") == find(f"{run.id}/@latest")
    assert sorted(p.name for p in (run.folder / "checkpoints").iterdir()) == [
        "best.json", "latest.json", "step-000000200", "step-000000300",
    ]  # fmt: skip
    scores = read_scores(find(f"{run.id}/@latest"))
    assert (scores["eval"]["score"], scores["test"]["score"]) == (7.0, 99.0), "neither is lost"
    with pytest.raises(UserError, match="has no checkpoint step=7; it has 200, 300"):
        find(f"{run.id}/step=7")
    with pytest.raises(UserError, match="has no checkpoint step=x"):
        find(f"{run.id}/step=x")
    with pytest.raises(UserError, match="unknown checkpoint '@first'"):
        find(f"{run.id}/@first")


def test_p42_latest_never_goes_back(make_config):
    config = make_config("CartPole-v1", checkpoint={"keep": None})
    with Training(config) as training:
        run = Run.create(config, "x")
        keeper = Keeper(run, config.checkpoint)
        keeper.save(contents(training.policy, 300))
        keeper.save(contents(training.policy, 200))
    assert find(f"{run.id}/@latest").name == "step-000000300"


def test_a_billion_comes_after_a_million(make_config):
    config = make_config("CartPole-v1", checkpoint={"keep": 1})
    with Training(config) as training:
        run = Run.create(config, "x")
        keeper = Keeper(run, config.checkpoint)
        for steps in (999_999_998, 999_999_999, 1_000_000_000, 1_000_000_001):
            keeper.save(contents(training.policy, steps))
    assert find(f"{run.id}/@latest").name == "step-1000000001"
    kept = {path.name for path in (run.folder / "checkpoints").glob("step-*")}
    assert kept == {"step-1000000000", "step-1000000001"}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_damaged_pointer_is_one_sentence(make_config, text):
    result = saved(make_config)
    for name in ("best", "latest"):
        (result.run.folder / "checkpoints" / f"{name}.json").write_text(text)
    with pytest.raises(UserError, match=r"best\.json cannot be loaded"):
        load(result.run.id)


def test_what_is_kept(make_config):
    config = make_config("CartPole-v1", checkpoint={"keep": 1})
    with Training(config) as training:
        run = Run.create(config, "x")
        keeper = Keeper(run, config.checkpoint)
        keeper.save(contents(training.policy, 100), pin="alert kl-high")
        keeper.save(contents(training.policy, 200), awaits_score=True)
        for steps in (300, 400, 500):
            keeper.save(contents(training.policy, steps))
        kept = sorted(int(path.name[5:]) for path in (run.folder / "checkpoints").glob("step-*"))
        assert kept == [100, 200, 400, 500], "pinned, awaited, one older, latest"
        keeper.set_best(200, {"score": 1.0, "seeds": "eval"})
        keeper.release(200)
        keeper.save(contents(training.policy, 600))
    kept = sorted(int(path.name[5:]) for path in (run.folder / "checkpoints").glob("step-*"))
    assert kept == [100, 200, 500, 600], "200 is now the best"


def test_a_checkpoint_holds_its_own_row_and_rollout(make_config):
    result = saved(make_config, eval={"every_steps": 128, "episodes": 2}, checkpoint={"keep": None})
    rows = {row["env_steps"]: row for row in result.run.metrics()}
    steps = sorted((result.run.folder / "checkpoints").glob("step-*"))
    assert [int(step.name[5:]) for step in steps] == [128, 256, 320]
    for step in steps:
        row = rows[int(step.name[5:])]
        assert read_json(step / "metrics.json") == row, "at full precision"
        lines = (step / "rollout.csv").read_text().splitlines()
        assert len(lines) == 1 + 64
        assert lines[0].startswith("copy,step,action,probability,reward")
    scored = read_score(steps[0])
    assert scored["score"] == rows[128]["eval/score"]


def test_a_score_says_what_it_depends_on(make_config):
    result = saved(make_config)
    written = read_score(find(result.run.id))
    assert len(written["env_seeds"]) == 20
    assert len(written["fingerprint"]) == 16
    assert {"python", "torch", "gymnasium", "numpy"} <= set(written["versions"])
    assert written["deterministic"] is True
    assert len(written["scores"]) == written["episodes"] == 20


def test_the_game_is_kept_with_run_checkpoint_and_certificate(make_config):
    env = {"family": FAKE, "skill": 4}
    result = saved(make_config, env=env)
    info, step = result.run.info(), find("@last/@latest")
    assert info["fingerprint"] == fingerprint(result.config.env, result.config.reward)
    assert info["facts"]["game"]["skill"] == 4
    assert info["actions"] == ["left", "right"]
    kept = read(step).game
    assert kept == {key: info[key] for key in ("fingerprint", "protocol", "facts", "actions")}
    assert read_score(step)["fingerprint"] == info["fingerprint"]
    assert all(e["fingerprint"] == info["fingerprint"] for e in result.run.evaluations())


def test_p23_action_meanings_are_stored_and_matched_on_load(make_config):
    result = saved(make_config, env={"family": FAKE})
    swapped = ["env.names=[right, left]"]
    names = "its actions were left, right; here they are right, left"
    with pytest.raises(UserError, match=f"cannot be resumed: {names}; start a new one with --from"):
        resume(result.run.id, [*swapped, "budget.env_steps=1e4"])
    with pytest.raises(UserError, match=f"cannot be played: {names}$"):
        play_again(result.run.id, overrides=swapped)
    config = make_config("CartPole-v1", env={"family": FAKE, "names": ["right", "left"]})
    (warning,) = fork(result.run.id).warnings(config)
    assert warning == f"the policy's choices change their meaning: {names}"
    assert list(fork(result.run.id).warnings(result.config)) == []


def test_a_policy_may_be_scored_in_another_game_and_it_is_said(make_config):
    result = saved(make_config, env={"family": FAKE})
    (other,) = play_again(result.run.id, 3, ["env.time_limit=5"])
    assert other.unlike == "time_limit null / 5"
    assert other.as_written is None
    assert other.evaluation.lengths == (5, 5, 5)
    assert other.evaluation.fingerprint != result.run.info()["fingerprint"]
    (same,) = play_again(result.run.id, overrides=["eval.episodes=2", "env.count=2"])
    assert (same.unlike, len(same.evaluation.scores)) == ("", 2)
    assert same.evaluation.fingerprint == result.run.info()["fingerprint"]
    assert [played.unlike for played in play_again(result.run.id)] == [""]


def test_a_policy_that_does_not_fit_a_game_is_refused(make_config):
    result = saved(make_config)
    stacked = ["env.wrappers=[{name: frame_stack, count: 2}]"]
    with pytest.raises(UserError, match=r"the policy sees vector \[4\], but this game shows"):
        play_again(result.run.id, overrides=stacked)
    with pytest.raises(UserError, match=r"discrete \[2\] actions, but this game takes .* \[3\]"):
        play_again(
            result.run.id,
            overrides=["env.wrappers=[{name: action_map, mapping: [0, 1, 1]}]"],
        )


def test_a_fork_into_another_game_says_so(make_config):
    result = saved(make_config)
    config = make_config("CartPole-v1", env={"time_limit": 50}, reward={"clip": 1.0})
    (warning,) = fork(result.run.id).warnings(config)
    assert warning == (
        "these weights were trained on other terms: time_limit null / 50, clip null / 1"
    )


def test_an_interrupted_training_keeps_its_state(make_config):
    class Impatient:
        def row(self, row):
            os.kill(os.getpid(), signal.SIGINT)

        open = note = evaluation = event = close = lambda self, *args: None

    config = make_config("CartPole-v1")
    result = train(config, [Impatient()], lambda: Run.create(config, "x"))
    assert result.reason == "interrupted"
    assert result.run.info()["status"] == "interrupted"
    assert find(f"{result.run.id}/@latest").name == "step-000000064"
    advice = f"has no best checkpoint; it has 64, so write {result.run.id}/step=64"
    with pytest.raises(UserError, match=advice):
        find(f"{result.run.id}/@best")
    shutil.rmtree(result.run.folder / "checkpoints" / "step-000000064")
    for missing in ("@best", "@latest", "step=64"):
        with pytest.raises(UserError, match="train it again with: spotter train x"):
            find(f"{result.run.id}/{missing}")
    with pytest.raises(UserError, match="has no latest checkpoint; it has none"):
        resume(result.run.id)


@pytest.mark.parametrize("name", ["policy.safetensors", "trainer.safetensors", "rollout.csv"])
def test_a_save_that_fails_leaves_the_older_checkpoint(make_config, monkeypatch, name):
    result = saved(make_config)
    before = find("@last/@latest")

    def full(path, data):
        if path.name == name:
            raise OSError(28, "No space left on device")
        path.write_bytes(data if isinstance(data, bytes) else data.encode())

    with monkeypatch.context() as patch:
        patch.setattr("spotter.training.checkpoint.write_atomic", full)
        with pytest.raises(OSError, match="No space"):
            Keeper(result.run, result.config.checkpoint).save(contents(result.policy.network, 999))
    assert find("@last/@latest") == before
    load("@last/@latest")
    assert not (before.parent / "step-000000999").exists()


def test_format_one_still_loads(monkeypatch, tmp_path):
    shutil.copytree(MUSEUM / "format1", tmp_path / "runs")
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path / "runs"))
    (run,) = all_runs()
    policy = load(f"{run.id}/@best")
    assert policy.spaces.action.nvec == (2,)
    assert read_score(find(run.id))["seeds"] in ("eval", "test")
    (again,) = play_again(run.id)
    assert again.as_written is True, "the score still holds"
    with pytest.raises(UserError, match="without its training state"):
        resume(run.id, ["budget.env_steps=1e6", "eval.stop_when_solved=false"])


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_hostile_or_damaged_checkpoint_is_refused(make_config, damage, tmp_path):
    result = saved(make_config)
    step = find("@last")
    weights, state = step / "policy.safetensors", step / "state.json"
    sentence = "cannot be loaded"
    if damage == "truncated":
        weights.write_bytes(weights.read_bytes()[:100])
    elif damage == "pickle":
        weights.write_bytes(pickle.dumps({"weights": Trap(tmp_path / "sprung")}))
    elif damage == "shapes":
        other = saved(make_config, "Acrobot-v1")
        shutil.copy(find(other.run.id) / "policy.safetensors", weights)
    elif damage == "missing":
        weights.unlink()
    elif damage == "traversal":
        pointer = {"step": "../../../elsewhere"}
        (step.parent / "best.json").write_text(json.dumps(pointer))
        sentence = "which is no checkpoint"
    elif damage == "trainer":
        (step / "trainer.safetensors").write_bytes(b"\x80\x04")
    elif damage == "tree":
        state.write_text(state.read_text().replace("$array", "$object"))
    else:
        state.write_text(state.read_text().replace('"format": 2', '"format": 3'))
    with pytest.raises(UserError, match=sentence):
        load(result.run.id)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spaces", "action", "n"), 10**400),
        (("spaces", "observation", "shape"), [10**12]),
        (("game", "actions"), ["left", ["right"]]),
        (("game", "facts"), 7),
    ],
)
def test_odd_values_in_the_state_of_a_checkpoint_are_one_sentence(make_config, path, value):
    result = saved(make_config)
    file = find("@last") / "state.json"
    state = json.loads(file.read_text())
    node = state
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    file.write_text(json.dumps(state))
    with pytest.raises(UserError, match="cannot be loaded"):
        load(result.run.id)


class Trap:
    """Unpickling it leaves a trace."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (type(self.path).touch, (self.path,))


def test_weights_that_are_no_numbers_are_refused_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path))
    run = api.train("CartPole-v1:ppo", "video.when=null", "eval.episodes=2", quiet=True,
                        budget={"env_steps": 256}).run  # fmt: skip
    path = find(f"{run.id}/@latest") / "policy.safetensors"
    weights = safetensors.torch.load_file(path)
    name = next(iter(weights))
    weights[name] = torch.full_like(weights[name], math.nan)
    safetensors.torch.save_file(weights, path)
    with pytest.raises(UserError, match=rf"1 of its \d+ tensors hold nan, {re.escape(name)} first"):
        load(f"{run.id}/@latest")
