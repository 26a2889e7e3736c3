"""The run folder: created, filled, found, and read without torch."""

import json
import subprocess
import sys

import pytest

from spotter.config import recipes, resolve, validate
from spotter.rundir.run import FORMAT, Run, all_runs, home, select
from spotter.training import train
from spotter.types import UserError


@pytest.fixture(autouse=True)
def own_folder(runs_elsewhere, tmp_path, monkeypatch):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path / "runs"))


def trained(make_config, env_id="CartPole-v1", **sections):
    config = make_config(env_id, **{"budget": {"env_steps": 300}, **sections})
    return train(config, new_run=lambda: Run.create(config, f"{env_id}:ppo", ["spotter", "train"]))


def test_a_run_says_what_happened(make_config):
    result = trained(make_config)
    info = result.run.info()
    assert info["format"] == FORMAT
    assert info["id"] == result.run.id
    assert (info["status"], info["reason"]) == ("finished", "budget")
    assert info["env_steps"] == result.env_steps == 320
    assert info["score"] == result.score
    assert info["solved"] is False
    assert info["created"] <= info["heartbeat"] <= info["ended"]
    assert {"python", "torch", "gymnasium", "numpy"} <= set(info["versions"])


def test_rows_and_evaluations_are_all_there_at_full_precision(make_config):
    result = trained(make_config, eval={"every_steps": 128})
    rows = list(result.run.metrics())
    assert [row["env_steps"] for row in rows] == [64, 128, 192, 256, 320]
    assert [row["vector_steps"] for row in rows] == [16, 32, 48, 64, 80]
    assert isinstance(rows[-1]["loss/total"], float)
    events = [event for event in result.run.events() if event["event"] == "evaluation"]
    assert [(event["seeds"], event["env_steps"]) for event in events] == [
        ("eval", 128), ("eval", 256), ("test", 320),
    ]  # fmt: skip
    assert events[-1]["scores"] == list(result.test.scores)


def test_the_saved_config_is_the_config(make_config):
    result = trained(make_config)
    saved = recipes.plain(recipes.read(result.run.folder / "config.yaml").data)
    assert validate(saved) == result.config


@pytest.mark.parametrize("address", ["LunarLander-v3:ppo_random", "MountainCar-v0:ppo_count"])
def test_saved_recipes_with_wrappers_and_signals_read_back(address):
    config = resolve(address).config
    run = Run.create(config, address)
    saved = recipes.plain(recipes.read(run.folder / "config.yaml").data)
    assert validate(saved) == config


def test_a_mistake_leaves_no_folder_behind(make_config):
    config = make_config("CartPole-v1", env={"kwargs": {"wheels": 3}})
    with pytest.raises(UserError, match="cannot be made"):
        train(config, new_run=lambda: Run.create(config, "x"))
    assert not home().exists()


def test_a_failing_run_says_so(make_config, monkeypatch):
    from spotter.algos.ppo import PPO

    def broken(*args):
        raise RuntimeError("the roof is on fire")

    monkeypatch.setattr(PPO, "update", broken)
    with pytest.raises(RuntimeError):
        trained(make_config)
    info = select("@last").info()
    assert info["status"] == "failed"
    assert info["reason"] == "RuntimeError: the roof is on fire"


def test_selectors(make_config):
    first = trained(make_config).run
    second = trained(make_config, "Acrobot-v1").run
    newest = max(first.id, second.id)
    assert select("@last").id == newest
    assert select("@last:CartPole-v1") == first
    assert select(first.id) == first
    assert [run.id for run in all_runs()] == sorted([first.id, second.id], reverse=True)
    with pytest.raises(UserError, match="fits 2 runs"):
        select(first.id[:4])
    with pytest.raises(UserError, match="there is no run 'zzz'"):
        select("zzz")
    with pytest.raises(UserError, match=r"no run of Acrobat-v1 .*did you mean 'Acrobot-v1'"):
        select("@last:Acrobat-v1")
    with pytest.raises(UserError, match="unknown selector '@lost'"):
        select("@lost")


def test_a_newer_format_is_refused_and_a_silent_run_is_named(make_config):
    run = trained(make_config).run
    path = run.folder / "run.json"
    info = json.loads(path.read_text())
    path.write_text(
        json.dumps({**info, "status": "running", "heartbeat": "2020-01-01T00:00:00+00:00"})
    )
    assert run.info()["status"] == "silent"
    path.write_text(json.dumps({**info, "format": FORMAT + 1}))
    with pytest.raises(UserError, match="update Spotter"):
        run.info()


def test_reading_runs_needs_no_torch():
    script = "import sys, spotter.rundir.run; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
