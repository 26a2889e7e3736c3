"""Saved policies: the right weights, whole or not at all, safe to open."""

import json
import pickle
import shutil

import pytest
import torch

from spotter.checkpoint import Keeper, find, load
from spotter.evaluate import Evaluator
from spotter.rundir.run import Run
from spotter.training import Training, train
from spotter.types import Evaluation, UserError

DICT_ENV = "spotter.testing.scripted:Scripted-v0"


def saved(make_config, env_id="CartPole-v1", **sections):
    config = make_config(env_id, **{"budget": {"env_steps": 300}, **sections})
    return train(config, new_run=lambda: Run.create(config, f"{env_id}:ppo"))


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
    ours, theirs = result.policy.state_dict(), loaded.state_dict()
    assert set(ours) == set(theirs)
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    assert loaded.spaces == result.policy.spaces
    assert not loaded.training


def test_the_score_beside_a_checkpoint_belongs_to_its_weights(make_config):
    result = saved(make_config)
    step = find("@last/@best")
    written = json.loads((step / "score.json").read_text())
    with Evaluator(result.config) as evaluator:
        again = evaluator.run(load("@last/@best"), 0, written["seeds"])
    assert list(again.scores) == written["scores"]


def test_best_is_the_best_evaluation_and_latest_the_last(make_config):
    config = make_config("CartPole-v1")
    with Training(config) as training:
        run = Run.create(config, "x")
        keeper = Keeper(run)
        for steps, score in ((100, 5.0), (200, 9.0), (300, 7.0)):
            training.step()
            keeper.save(training.policy, steps, evaluation(score, steps))
        keeper.save(training.policy, 300, evaluation(99.0, 300, "test"))
    assert find(f"{run.id}/@best").name == "step-000000200"
    assert find(f"{run.id}/@latest").name == "step-000000300"
    assert find(run.id) == find(f"{run.id}/@best")
    assert find(f"{run.id}/step=300") == find(f"{run.id}/@latest")
    assert sorted(p.name for p in (run.folder / "checkpoints").iterdir()) == [
        "best.json", "latest.json", "step-000000200", "step-000000300",
    ]  # fmt: skip
    with pytest.raises(UserError, match="has no checkpoint step=7; it has 200, 300"):
        find(f"{run.id}/step=7")
    with pytest.raises(UserError, match="unknown checkpoint 'best'"):
        find(f"{run.id}/best")


def test_an_interrupted_training_keeps_its_policy(make_config):
    class Impatient:
        def open(self, config):
            pass

        note = evaluation = close = lambda self, *args: None

        def row(self, row):
            raise KeyboardInterrupt

    config = make_config("CartPole-v1")
    result = train(config, [Impatient()], lambda: Run.create(config, "x"))
    assert result.reason == "interrupted"
    assert result.run.info()["status"] == "interrupted"
    assert find(f"{result.run.id}/@latest").name == "step-000000064"
    with pytest.raises(UserError, match="has no best checkpoint"):
        find(f"{result.run.id}/@best")


def test_a_save_that_fails_leaves_the_older_checkpoint(make_config, monkeypatch):
    result = saved(make_config)
    before = find("@last/@latest")

    def full(*args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("spotter.checkpoint.save_file", full)
        with pytest.raises(OSError, match="No space"):
            Keeper(result.run).save(result.policy, 999, None)
    assert find("@last/@latest") == before
    load("@last/@latest")


@pytest.mark.parametrize("damage", ["truncated", "pickle", "shapes", "missing", "newer"])
def test_a_hostile_or_damaged_checkpoint_is_refused(make_config, damage, tmp_path):
    result = saved(make_config)
    step = find("@last")
    weights, state = step / "policy.safetensors", step / "state.json"
    if damage == "truncated":
        weights.write_bytes(weights.read_bytes()[:100])
    elif damage == "pickle":
        weights.write_bytes(pickle.dumps({"weights": Trap(tmp_path / "sprung")}))
    elif damage == "shapes":
        other = saved(make_config, "Acrobot-v1")
        shutil.copy(find(other.run.id) / "policy.safetensors", weights)
    elif damage == "missing":
        weights.unlink()
    else:
        state.write_text(state.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(UserError, match="cannot be loaded"):
        load(result.run.id)
    assert not (tmp_path / "sprung").exists()


class Trap:
    """Unpickling it leaves a trace."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (type(self.path).touch, (self.path,))
