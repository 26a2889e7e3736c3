"""`spotter runs` and `spotter show`, after a real training and on folders made by hand."""

import json
import re

import pytest

from tests.rundir.making import maker


@pytest.fixture(autouse=True)
def runs_here(runs_elsewhere, monkeypatch):
    monkeypatch.delenv("SPOTTER_RUNS")


@pytest.fixture
def make_run(folder, make_config):
    return maker(make_config)


@pytest.fixture
def trained(spotter, folder):
    ran = spotter("train", "CartPole-v1:ppo", "budget.env_steps=300", "eval.episodes=2", "--quiet")
    assert ran.code == 0
    return ran


def test_training_leaves_a_run_that_can_be_listed_and_shown(spotter, trained):
    run_id = trained.out.split("run ")[-1].split(" ")[0]
    listed = spotter("runs").out.split("\t")
    assert listed[:4] == [run_id, "CartPole-v1:ppo", "finished", "512"]
    shown = spotter("show", "@last").out
    assert re.search(rf"^id +{run_id}$", shown, re.MULTILINE)
    assert re.search(r"^test +\d", shown, re.MULTILINE)
    assert "loss/total" in shown
    assert spotter("runs", "cartpole").code == 0


def test_no_save_leaves_nothing(spotter, folder, tmp_path):
    args = ("budget.env_steps=1", "eval.episodes=1", "--quiet", "--no-save")
    assert spotter("train", "CartPole-v1:ppo", *args).code == 0
    assert list(tmp_path.iterdir()) == []


def test_a_mistake_leaves_nothing(spotter, folder, tmp_path):
    assert spotter("train", "CartPole-v1:ppo", "env.kwargs.wheels=4").code == 2
    assert list(tmp_path.iterdir()) == []


def test_questions_about_runs_that_are_not_there(spotter, folder, tmp_path):
    assert spotter("runs").err == (
        "spotter: there are no runs in runs; make one, e.g. spotter train CartPole-v1:ppo\n"
    )
    assert spotter("runs", "--json").out == "[]\n"
    assert spotter("show", "@last").err == (
        "spotter: there is no run in runs; train one first: spotter train CartPole-v1:ppo\n"
    )
    assert spotter("show", "@last").code == 2
    assert list(tmp_path.iterdir()) == [], "looking leaves nothing behind"


def test_eval_confirms_the_written_score_and_notices_other_weights(spotter, trained, tmp_path):
    good = spotter("eval", "@last")
    assert good.code == 0
    assert "every episode scores what was written down" in good.out
    assert "over 7 test episodes" in spotter("eval", "@last", "--episodes", "7").out
    (score,) = (tmp_path / "runs").glob("*/checkpoints/step-*/score.json")
    score.write_text(score.read_text().replace('"scores": [', '"scores": [1.5,'))
    bad = spotter("eval", "@last")
    assert bad.code == 1
    assert "not what it was saved with: " in bad.err
    assert "the first is number 1 (seed " in bad.err and "with 1.5 then and " in bad.err


def test_eval_under_other_settings_says_what_is_different(spotter, trained):
    ran = spotter("eval", "@last", "env.time_limit=9", "--episodes", "3")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "note: not the game it was trained on: time_limit null / 9",
        "score 9 over 3 test episodes",
    ]
    idle = spotter("eval", "@last", "algo.lr=1")
    assert (idle.code, "algo.lr changes nothing about how" in idle.err) == (2, True)
    wrong = spotter("eval", "@last", "env.tim_limit=9")
    assert (wrong.code, "did you mean env.time_limit?" in wrong.err) == (2, True)


def test_show_and_the_query_know_the_fingerprint(spotter, trained):
    shown = spotter("show", "@last").out
    (line,) = (line for line in shown.splitlines() if line.startswith("fingerprint "))
    assert "protocol" not in shown
    assert spotter("runs", f"fingerprint={line.split()[1]}").code == 0
    assert spotter("runs", "fingerprint=0123456789abcdef").out == ""


def test_eval_refuses_nonsense(spotter, trained):
    assert "a whole number above 0, got 'x'" in spotter("eval", "@last", "--episodes", "x").err
    assert "unknown checkpoint '@bst'" in spotter("eval", "@last/@bst").err
    assert spotter("eval", "@last/@bst").code == 2


# --- lists ---------------------------------------------------------------------------------------


def listed(ran) -> list[str]:
    assert ran.code == 0, ran.err
    return [line.split("\t")[0] for line in ran.out.splitlines()]


def test_queries(spotter, make_run):
    low, high = make_run(score=10.0), make_run(score=480.0, solved=True)
    other = make_run("Acrobot-v1", status="interrupted", best=-90.5)
    other.tag("try")
    assert listed(spotter("runs")) == [other.id, high.id, low.id]
    assert listed(spotter("runs", "env=CartPole-v1", "score>100")) == [high.id]
    assert listed(spotter("runs", "tag=try")) == [other.id]
    assert listed(spotter("runs", "--last", "2")) == [other.id, high.id]
    assert listed(spotter("runs", "cartpole", "--last", "1")) == [high.id]
    cells = [line.split("\t") for line in spotter("runs").out.splitlines()]
    assert [row[4] for row in cells] == ["-90.5 eval", "480 solved", "10"]
    assert cells[0][5] == "try"
    nothing = spotter("runs", "env=Pong", "x")
    assert (nothing.code, nothing.err) == (0, "spotter: no run in runs matches 'env=Pong x'\n")
    assert "did you mean 'score'?" in spotter("runs", "scoer=3").err
    assert "--last should be a whole number" in spotter("runs", "--last", "0").err


def test_json_holds_everything_newest_first(spotter, make_run):
    first = make_run(score=float("nan"))
    second = make_run(parent={"run": first.id})
    rows = json.loads(spotter("runs", "--json").out)
    assert [row["id"] for row in rows] == [second.id, first.id]
    assert rows[1]["score"] == "nan"
    assert rows[0]["parent"] == {"run": first.id}
    assert rows[0]["folder"] == str(second.folder)
    assert set(second.info()) < set(rows[0])
    assert len(json.loads(spotter("runs", "--json", "--last", "1").out)) == 1


def test_a_damaged_folder_is_named_and_the_rest_listed(spotter, make_run):
    good, bad = make_run(), make_run()
    (bad.folder / "run.json").write_text("{")
    ran = spotter("runs")
    assert listed(ran) == [good.id]
    assert ran.err == f"{bad.id} cannot be read; `spotter show {bad.id}` says why\n"
    assert "is not a run" in spotter("show", bad.id).err


def test_cells_of_a_strangers_run_cannot_move_the_cursor(spotter, make_run):
    run = make_run(address="evil\x1b[2J\tname\nline")
    assert spotter("runs").out.count("\n") == 1
    assert "\x1b" not in spotter("runs").out + spotter("show", run.id).out


def test_a_table_on_a_terminal(spotter, make_run, monkeypatch):
    run = make_run(address="[bold]odd", score=3.0)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    out = spotter("runs").out
    assert "recipe" in out.splitlines()[0]
    assert run.id in out
    assert "[bold]odd" in out


# --- one run -------------------------------------------------------------------------------------


def test_show_tells_the_whole_story(spotter, make_run, make_config):
    parent = make_run()
    origin = {"run": parent.id, "checkpoint": "step-000000064", "env_steps": 64, "kind": "fork"}
    run = make_run(status="interrupted", scores=[1.0, 3.0], parent=origin, best=2.0)
    run.tag("odd")
    run.resume(["x"], 100, make_config("CartPole-v1"), {"algo.lr": (0.1, 0.2)}, "was too slow")
    run.metrics_path.write_text('{"env_steps": 100, "loss/total": 0.123456789, "alerts": ["kl"]}\n')
    run.event("alert", {"id": "kl", "saw": "approx_kl 0.3", "advice": "lower algo.lr"})
    run.finish("finished", resume_grade={"grade": "exact", "why": "the copies can be saved"})
    child = make_run(parent={"run": run.id})
    shown = dict(
        re.findall(r"^(\S+(?: \S+)*) {2,}(.*)$", spotter("show", run.id).out, re.MULTILINE)
    )
    assert shown["status"] == "finished"
    assert shown["parent"] == f"{parent.id} step-000000064 (fork)"
    assert shown["children"] == child.id
    assert shown["resumed"].startswith("at 100 env steps, ")
    assert shown["resumed"].endswith(", algo.lr: 0.1 → 0.2, was too slow")
    assert shown["resume grade"] == "exact: the copies can be saved"
    assert shown["test"] == "2 ± 12.71 (95 %) over 2 episodes at 100 env steps"
    assert shown["alert"] == "kl (1 update, first at 100 env steps): approx_kl 0.3; lower algo.lr"
    assert shown["tags"] == "odd"
    assert shown["score"] == "2 ± 12.71 (95 %) over 2 episodes"
    assert shown["loss/total"] == "0.123457"


def test_a_group_is_shown_and_found(spotter, make_run):
    grouped, alone = make_run(group="both"), make_run()
    ran = spotter("runs", "group=both")
    assert ran.out.startswith(grouped.id) and ran.out.endswith("\tboth\n")
    assert alone.id not in ran.out
    assert spotter("runs", alone.id).out.count("\t") == 5, "no column without a group"
    assert re.search(r"^group +both$", spotter("show", grouped.id).out, re.MULTILINE)
    assert not re.search(r"^group ", spotter("show", alone.id).out, re.MULTILINE)
