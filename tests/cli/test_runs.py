"""`spotter runs` and `spotter show`, after a real training in a folder of its own."""

import pytest


@pytest.fixture(autouse=True)
def runs_here(runs_elsewhere, monkeypatch):
    monkeypatch.delenv("SPOTTER_RUNS")


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
    assert f"id           {run_id}" in shown
    assert "test         " in shown
    assert "loss/total" in shown
    assert spotter("runs", "cartpole").code == 0


def test_no_save_leaves_nothing(spotter, folder, tmp_path):
    args = ("budget.env_steps=1", "eval.episodes=1", "--quiet", "--no-save")
    assert spotter("train", "CartPole-v1:ppo", *args).code == 0
    assert list(tmp_path.iterdir()) == []


def test_a_mistake_leaves_nothing(spotter, folder, tmp_path):
    assert spotter("train", "CartPole-v1:ppo", "env.kwargs.wheels=4").code == 2
    assert list(tmp_path.iterdir()) == []


def test_questions_about_runs_that_are_not_there(spotter, folder):
    assert spotter("runs").err == "spotter: there are no runs in runs\n"
    assert spotter("show", "@last").err == "spotter: there is no run in runs\n"
    assert spotter("show", "@last").code == 2


def test_eval_confirms_the_written_score_and_notices_other_weights(spotter, trained, tmp_path):
    good = spotter("eval", "@last")
    assert good.code == 0
    assert "every episode scores what was written down" in good.out
    assert "over 7 test episodes" in spotter("eval", "@last", "--episodes", "7").out
    (score,) = (tmp_path / "runs").glob("*/checkpoints/step-*/score.json")
    score.write_text(score.read_text().replace('"scores": [', '"scores": [1.5,'))
    bad = spotter("eval", "@last")
    assert bad.code == 1
    assert "not what was written down" in bad.err


def test_eval_refuses_nonsense(spotter, trained):
    assert "a whole number above 0, got 'x'" in spotter("eval", "@last", "--episodes", "x").err
    assert "unknown checkpoint '@bst'" in spotter("eval", "@last/@bst").err
    assert spotter("eval", "@last/@bst").code == 2
