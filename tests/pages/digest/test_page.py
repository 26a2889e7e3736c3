"""The digest of runs whose story is known."""

import json
import shutil
import subprocess
import sys
import time

import pytest

from spotter.metrics import common
from spotter.metrics.spec import MetricSpec
from spotter.pages.digest.page import FEWEST_TOKENS, digest
from spotter.pages.digest.tokens import tokens
from spotter.rundir.run import Run
from spotter.types import UserError
from tests.pages.digest.making import make, write_rows


def test_a_page_tells_what_the_run_is_and_how_it_did():
    run = make("algo.gamma=0.9", why="is the horizon too short?")
    text = digest(run)
    assert text.startswith("# CartPole-v1 · ppo: solved (budget)\n")
    assert f"Run {run.id}, recipe CartPole-v1:ppo, seed 1" in text
    assert "25,600 env steps of 100,000 (26 % of the budget), 100 updates" in text
    assert "test 480 ± 24.84 (95 %) over 3 held-out episodes, greedy" in text
    assert "best evaluation 120" in text
    assert '"is the horizon too short?"' in text
    assert "- algo.gamma: 0.9 (this run; the recipe has 0.98)" in text
    assert "(from variant ppo)" in text
    assert "- entropy-collapse (warning, 50 updates, 50 % of all, first at 5,120 env steps)" in text


def test_curves_have_bars_and_numbers():
    line = next(line for line in digest(make()).splitlines() if line.startswith("- train/score"))
    assert "▁" in line
    assert "█" in line
    assert "greatest 497.5 at 25,600" in line
    assert "rising +19" in line
    assert "- The same numbers as train/score: train/length" in digest(make())


def test_what_a_metric_means_is_cut_at_whole_clauses(monkeypatch):
    meanings = {"grad/norm": "its size (before; it is clipped; then)", "loss/value": "error; twice"}
    specs = tuple(MetricSpec(key, meaning) for key, meaning in meanings.items())
    monkeypatch.setattr(common, "METRICS", specs)
    run = make()
    rows = [json.loads(line) for line in run.metrics_path.read_text().splitlines()]
    rows[0]["grad/norm"] = 7.0
    run.metrics_path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    text = digest(run, tokens=8000)
    assert "- grad/norm (its size (before; it is clipped; then)): " in text
    assert "- loss/value (error): " in text


@pytest.mark.parametrize("length", [300, 1200])
def test_a_command_is_whole_or_not_there(length):
    """Without its end it would train something else."""
    kwargs = "env.kwargs={render_mode: " + "x" * length + "}"
    run = make("algo.lr=0.3", kwargs, score=9.0, solved=False)
    rows = [json.loads(line) for line in run.metrics_path.read_text().splitlines()]
    broken = {"policy/approx_kl": 3.0, "hp/algo.lr": 0.3, "train/score": 9.0}
    run.metrics_path.write_text("".join(json.dumps(row | broken) + "\n" for row in rows))
    text = digest(run, tokens=8000)
    assert "Change: `algo.lr={shape: linear, start: 0.001, end: 0.0}`." in text
    command = next((line for line in text.splitlines() if line.startswith("- Try first")), "")
    assert command.endswith("x`") == (length == 300)
    assert bool(command) == (length == 300)


def test_values_that_are_not_finite_are_told_first():
    run = make()
    rows = [json.loads(line) for line in run.metrics_path.read_text().splitlines()]
    for broken in rows[60:]:
        broken["loss/policy"] = "nan"
    run.metrics_path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    text = digest(run)
    assert "- loss/policy (policy loss): never a finite number; 40 values not finite" in text
    curves = text.partition("## Curves")[2]
    assert curves.index("loss/policy") < curves.index("policy/entropy")


def test_other_runs_of_the_environment_with_what_differed():
    best = make("algo.gamma=0.9", score=499.0)
    make("algo.lr=0.01", score=50.0, solved=False)
    elsewhere = make(address="Acrobot-v1:ppo", score=-80.0)
    text = digest(make())
    others = text.partition("## Other runs")[2].partition("##")[0]
    assert "The newest 2 of 2" in others
    assert f"the best is {best.id} with 499" in others
    assert "50, finished, 25,600 env steps, ppo, seed 1; differs: algo.lr 0.01 / " in others
    assert elsewhere.id not in others
    assert "## Other runs" not in digest(make(), others=0)


def test_lineage_notes_and_changes():
    parent = make()
    child = make(
        parent={"run": parent.id, "checkpoint": "step-000005120", "env_steps": 5120, "kind": "fork"}
    )
    child.event("note", {"text": "looks odd from here"})
    child.event("change", {"setting": "algo.lr", "before": 0.1, "after": 0.01, "env_steps": 900})
    text = digest(child, tokens=8000)
    assert f"Began with the weights of {parent.id} at 5,120 env steps (fork)" in text
    assert 'note: "looks odd from here"' in text
    assert "900 env steps: change: algo.lr: 0.1 -> 0.01" in text
    assert "What did changing algo.lr while it trained do?" in text
    assert f"Others began with its weights: {child.id}" in digest(parent, tokens=8000)


@pytest.mark.parametrize(
    ("fields", "question"),
    [
        ({"score": None, "solved": None}, "Does its best evaluation hold on test seeds?"),
        ({"score": 480.0}, "Is it above the threshold of 475?"),
        ({"score": 100.0, "solved": False}, "Would more env steps help?"),
        ({"score": 100.0, "solved": False}, "Why is it better in training"),
        ({"status": "running", "score": None}, "How will it end?"),
        ({}, "Is it luck?"),
        ({}, "What does it do on the screen?"),
    ],
    ids=["untested", "undecided", "rising", "gap", "running", "one seed", "unseen"],
)
def test_questions_come_from_what_is_missing(fields, question):
    assert question in digest(make(**fields), tokens=8000).partition("## Open questions")[2]


def test_questions_that_were_answered_are_not_asked():
    make("seed=7")
    run = make()
    (run.folder / "episodes" / "a").mkdir(parents=True)
    (run.folder / "episodes" / "a" / "trace.json").touch()
    text = digest(run, tokens=8000)
    assert "Is it luck?" not in text
    assert "What does it do on the screen?" not in text


def test_the_same_run_gives_the_same_page():
    run = make()
    assert digest(run) == digest(Run(run.folder))


@pytest.mark.parametrize("budget", [400, 1000, 4000, 12000])
def test_a_page_keeps_its_budget(budget):
    for gamma in ("0.9", "0.95", "0.99"):
        make(f"algo.gamma={gamma}")
    run = make("algo.lr=0.01", metrics=40, why="because " * 500)
    text = digest(run, tokens=budget)
    assert tokens(text) <= budget
    assert ("Left out to stay within" in text) == (budget < 12000)
    assert text.startswith("# CartPole-v1 · ppo")


def test_too_small_a_budget_is_refused():
    with pytest.raises(UserError, match=f"give it {FEWEST_TOKENS} or more"):
        digest(make(), tokens=100)


def test_runs_that_have_nothing_to_tell_yet():
    run = make(updates=0, score=None, best=None, status="running", solved=None)
    run.events_path.unlink()
    text = digest(run)
    assert "No row has been written yet." in text
    assert "never evaluated" in text
    assert "None fired." in text


def test_a_run_whose_settings_cannot_be_read():
    run = make()
    (run.folder / "config.yaml").write_text("{")
    assert "Its config.yaml cannot be read." in digest(run)


def test_a_recipe_that_is_a_path_is_not_followed(tmp_path):
    run = make()
    secret = tmp_path / "secret.yaml"
    secret.write_text("password: hunter2\n")
    info = json.loads((run.folder / "run.json").read_text())
    (run.folder / "run.json").write_text(json.dumps(info | {"address": str(secret)}))
    text = digest(run)
    assert "hunter2" not in text
    assert "Its recipe is not known here" in text
    assert str(tmp_path) not in text


def test_a_run_outside_the_folder_of_runs_has_no_neighbours(tmp_path):
    run = make()
    copy = tmp_path / "elsewhere" / "mine"
    shutil.copytree(run.folder, copy)
    assert "## Other runs of this environment\n\nNone." in digest(Run(copy))


def test_a_run_of_20_000_rows_is_quick_and_keeps_its_budget():
    run = make(updates=0)
    write_rows(run, 20_000, metrics=40)
    digest(make())  # what is imported once
    started = time.process_time()
    text = digest(run, tokens=3000)
    took = time.process_time() - started
    assert tokens(text) <= 3000
    assert "20,000 updates" in text
    assert took < 1.5


def test_no_torch_and_no_environment_is_imported():
    run = make()
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from spotter.pages.digest.page import digest\n"
        "from spotter.rundir.run import Run\n"
        f"digest(Run(Path({str(run.folder)!r})))\n"
        "print([name for name in ('torch', 'gymnasium') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_setting_that_a_resume_changed_is_told_with_all_its_values():
    when = "2026-11-15T12:00:00+00:00"
    changes = {"algo.gamma": [0.3, 0.98], "budget.env_steps": [24_000, 25_600]}
    resume = {"time": when, "stopped": when, "env_steps": 24_064, "changes": changes}
    turned, straight = make(resumes=[resume], score=41.5), make()
    ways = "0.3 for 24,064 env steps then 0.98 for 1,536"
    text = digest(turned)
    assert f"- algo.gamma: {ways} (changed when it was resumed)" in text
    assert f"- {straight.id}: 480" in text
    assert f"differs: algo.gamma 0.98 / {ways}" in text
    assert "What did changing algo.gamma while it trained do?" in text
    assert f"differs: algo.gamma {ways} / 0.98" in digest(straight)
    assert "budget.env_steps: 24" not in text
