"""The run folder: created, filled, resumed, and read without torch."""

import json
import os
import subprocess
import sys

import pytest

from spotter.config import recipes, resolve, validate
from spotter.rundir import identity, process
from spotter.rundir.files import StorageError, write_json
from spotter.rundir.run import FORMAT, Run, all_runs, home, select
from spotter.types import UserError


def trained(make_config, env_id="CartPole-v1", **sections):
    from spotter.training.run import train

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
    assert info["created"] <= info["ended"] <= info["heartbeat"], "films come after the end"
    assert {"python", "torch", "gymnasium", "numpy"} <= set(info["versions"])


def test_rows_and_evaluations_are_all_there_at_full_precision(make_config):
    result = trained(make_config, eval={"every_steps": 128})
    rows = list(result.run.metrics())
    assert [row["env_steps"] for row in rows] == [64, 128, 192, 256, 320]
    assert [row["vector_steps"] for row in rows] == [16, 32, 48, 64, 80]
    assert isinstance(rows[-1]["loss/total"], float)
    found = result.run.evaluations()
    kept = result.run.info()["best_env_steps"]
    assert [(event["seeds"], event["env_steps"]) for event in found] == [
        ("eval", 128), ("eval", 256), ("eval", 320), ("test", kept),
    ]  # fmt: skip
    assert found[-1]["scores"] == list(result.test.scores)


def test_the_saved_config_is_the_config(make_config):
    result = trained(make_config)
    saved = recipes.plain(recipes.read(result.run.folder / "config.yaml").data)
    assert validate(saved) == result.config
    assert result.run.settings() == saved


@pytest.mark.parametrize("address", ["LunarLander-v3:ppo_random", "MountainCar-v0:ppo_count"])
def test_saved_recipes_with_wrappers_and_signals_read_back(address):
    config = resolve(address).config
    run = Run.create(config, address)
    saved = recipes.plain(recipes.read(run.folder / "config.yaml").data)
    assert validate(saved) == config


def test_a_mistake_leaves_no_folder_behind(make_config):
    from spotter.training.run import train

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


def test_who_why_and_where_from_are_written_down(make_config, tmp_path):
    parent = {"run": "20260101-000000-aaaa", "checkpoint": "step-000000512", "env_steps": 512,
              "kind": "fork"}  # fmt: skip
    run = Run.create(
        make_config("CartPole-v1"), "CartPole-v1:ppo", ["a", "b"],
        parent=parent, why="does transfer help?", home=tmp_path / "apart",
    )  # fmt: skip
    assert run.folder.parent == tmp_path / "apart"
    info = run.info()
    assert info["parent"] == parent
    assert info["why"] == "does transfer help?"
    assert info["command"] == ["a", "b"]
    assert info["resumes"] == info["tags"] == []
    assert info["vector_steps"] == 0
    assert info["resume_grade"] is info["best"] is info["steps_to_threshold"] is None


def test_a_run_that_cannot_be_written_is_not_there(make_config, monkeypatch):
    def full(*args):
        raise StorageError("cannot write: No space left on device")

    monkeypatch.setattr("spotter.rundir.run.write_json", full)
    with pytest.raises(StorageError):
        Run.create(make_config("CartPole-v1"), "x")
    assert list(home().iterdir()) == []


# --- resuming ------------------------------------------------------------------------------------


@pytest.fixture
def interrupted(make_run):
    run = make_run(status="interrupted", env_steps=300, reason="interrupted", score=1.0, best=2.0)
    run.metrics_path.write_bytes(
        b'{"env_steps": 100, "x":  0.1}\n{"env_steps": 200}\n{"env_steps": 300}\n{"env_st'
    )
    return run


def test_a_resumed_run_goes_on_from_its_checkpoint(interrupted, make_config):
    before = interrupted.info()
    config = make_config("CartPole-v1", algo={"name": "ppo", "lr": 1e-4})
    again = interrupted.resume(
        ["spotter", "train"], 200, config, {"algo.lr": (0.0003, 0.0001)}, "slower"
    )
    assert again == interrupted
    info = interrupted.info()
    assert (info["status"], info["reason"], info["ended"]) == ("running", None, None)
    assert (info["env_steps"], info["score"], info["solved"], info["best"]) == (200, 1, None, 2)
    assert (info["host"], info["pid"]) == (process.host(), os.getpid())
    (resume,) = info["resumes"]
    assert resume["env_steps"] == 200
    assert resume["changes"] == {"algo.lr": [0.0003, 0.0001]}
    assert (resume["why"], resume["command"]) == ("slower", ["spotter", "train"])
    assert resume["stopped"] == before["ended"] <= resume["time"]
    assert interrupted.metrics_path.read_bytes() == (
        b'{"env_steps": 100, "x":  0.1}\n{"env_steps": 200}\n'
    )
    assert interrupted.settings()["algo"]["lr"] == 1e-4
    (event,) = interrupted.events()
    assert (event["event"], event["env_steps"], event["why"]) == ("resume", 200, "slower")


def test_pauses_between_sessions_are_no_training_time(make_run, edit):
    run = make_run()
    day = "2026-01-01T{}+00:00".format
    edit(
        run,
        created=day("10:00:00"),
        ended=day("12:00:05"),
        resumes=[{"time": day("12:00:00"), "stopped": day("10:00:20")}],
    )
    assert identity.seconds(run.info()) == 25


def test_each_score_counts_once_and_the_later_one_wins(make_run):
    run = make_run()

    def scored(seeds, env_steps, score):
        data = {"seeds": seeds, "env_steps": env_steps, "score": score, "scores": [score]}
        run.event("evaluation", data)

    scored("eval", 100, 1.0)
    scored("eval", 200, 2.0)
    scored("test", 200, 2.5)
    scored("eval", 300, 3.0)
    run.event("resume", {"env_steps": 200})
    scored("eval", 200, 4.0)
    run.event("note", {"text": "evaluation"})
    scored("eval", 250, 5.0)
    found = [(event["seeds"], event["env_steps"], event["score"]) for event in run.evaluations()]
    assert found == [("eval", 100, 1.0), ("test", 200, 2.5), ("eval", 200, 4.0), ("eval", 250, 5.0)]


# --- reading what others left --------------------------------------------------------------------


def test_a_run_that_is_not_heard_of_is_silent(make_run, edit):
    run = make_run(status="running")
    assert run.info()["status"] == "running"
    edit(run, heartbeat="2020-01-01T00:00:00+00:00", pid_start="")
    assert run.info()["status"] == "silent"
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    edit(run, heartbeat=identity.now(), pid=dead.pid)
    assert run.info()["status"] == "silent", "killed a moment ago, on this machine"
    edit(run, host="elsewhere")
    assert run.info()["status"] == "running", "of another machine only the heartbeat is known"


@pytest.mark.skipif(not process.start_of(os.getpid()), reason="who began when is not known here")
def test_a_long_update_is_no_death(make_run, edit):
    """An evaluation may take minutes; its process is there to be seen."""
    run = make_run(status="running")
    edit(run, heartbeat="2020-01-01T00:00:00+00:00")
    assert run.info()["status"] == "running"
    edit(run, pid_start="that of an earlier process of the same number")
    assert run.info()["status"] == "silent"


def test_a_newer_format_is_refused(make_run, edit):
    run = make_run()
    edit(run, format=FORMAT + 1)
    with pytest.raises(UserError, match=f"has format {FORMAT + 1}.*update Spotter"):
        run.info()


@pytest.mark.parametrize(
    "fields",
    [
        {"format": "2"}, {"env": None}, {"score": "high"}, {"created": "yesterday"},
        {"heartbeat": "2026-01-01T00:00:00"}, {"resumes": [{"time": 3}]}, {"resumes": [1]},
        {"parent": {}}, {"versions": []}, {"env_steps": "many"},
    ],
    ids=str,
)  # fmt: skip
def test_a_damaged_identity_is_one_sentence(make_run, edit, fields):
    run = make_run()
    edit(run, **fields)
    with pytest.raises(UserError, match="is not a run") as caught:
        run.info()
    assert "\n" not in str(caught.value)


def test_a_missing_field_is_named(make_run):
    run = make_run()
    path = run.folder / "run.json"
    path.write_text(
        json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "env"})
    )
    with pytest.raises(UserError, match=r"run.json has no env"):
        run.info()


def test_a_copied_folder_is_a_run_of_its_own(make_run):
    import shutil

    run = make_run()
    shutil.copytree(run.folder, home() / "a-copy")
    assert Run(home() / "a-copy").info()["id"] == "a-copy"
    assert {found.id for found in all_runs()} == {run.id, "a-copy"}


# --- tags ----------------------------------------------------------------------------------------


def test_tags_come_and_go_while_a_run_is_trained(make_run):
    run = make_run(status="running")
    run.tag("baseline")
    run.update(env_steps=400)
    run.tag("good")
    run.tag("good")
    assert run.info()["tags"] == ["baseline", "good"]
    assert "tags" not in json.loads((run.folder / "run.json").read_text())
    run.untag("baseline")
    assert run.info()["tags"] == ["good"]
    with pytest.raises(UserError, match="has no tag 'bad'; it has good"):
        run.untag("bad")


@pytest.mark.parametrize("name", ["", "1st", "../x", "a/b", "a b", ".x", "x" * 65, "@last", "é"])
def test_what_cannot_be_a_tag(make_run, name):
    with pytest.raises(UserError, match="cannot be a tag"):
        make_run().tag(name)


def test_reading_runs_needs_no_torch():
    names = ("run", "registry", "query", "compare", "view", "archive", "frames")
    imports = ", ".join(f"spotter.rundir.{name}" for name in names)
    script = f"import sys, {imports}; print({{'torch', 'pandas'}} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_a_run_killed_under_an_older_version_stands_by_its_best_checkpoint(make_run):
    run = make_run(status="running", score=None)
    path = run.folder / "checkpoints" / "best.json"
    path.parent.mkdir()
    write_json(path, {"step": "step-000000100", "score": 500.0, "seeds": "eval"})
    assert run.info()["best"] == 500
    assert select("@best-of:CartPole-v1") == run
    for text in ("{}", "?", '{"score": "x", "seeds": "eval"}', '{"score": 3, "seeds": "test"}'):
        path.write_text(text)
        assert run.info()["best"] is None
    write_json(path, {"step": "step-000000100", "score": 500.0, "seeds": "eval"})
    run.update(best=499.0)
    assert run.info()["best"] == 499, "what run.json says itself goes first"
