"""How runs are named."""

import pytest

from spotter.rundir.run import Run, select
from spotter.types import UserError


def test_words_ids_and_beginnings(make_run):
    first, second = make_run(), make_run("Acrobot-v1")
    assert select("@last") == second
    assert select("@last:CartPole-v1") == first
    assert select(first.id) == first
    with pytest.raises(UserError, match="fits 2 runs"):
        select(first.id[:4])
    with pytest.raises(UserError, match="there is no run 'zzz'"):
        select("zzz")
    with pytest.raises(UserError, match="there is no run ''"):
        select("")
    with pytest.raises(UserError, match=r"no run of Acrobat-v1 .*did you mean 'Acrobot-v1'"):
        select("@last:Acrobat-v1")
    with pytest.raises(UserError, match="unknown selector '@lost'; did you mean '@last'"):
        select("@lost")
    with pytest.raises(UserError, match=r"'@best-of' needs an environment, such as @best-of:"):
        select("@best-of")


@pytest.mark.parametrize("checkpoint", ["@best", "@latest", "step=500"])
def test_a_checkpoint_is_no_run(make_run, checkpoint):
    make_run()
    with pytest.raises(
        UserError, match=f"'@last/{checkpoint}' names a checkpoint; write .*: @last"
    ):
        select(f"@last/{checkpoint}")


def test_newest_is_by_creation_not_by_name(make_run, edit):
    first, second = make_run(), make_run()
    edit(first, created="2099-01-01T00:00:00+00:00")
    assert select("@last") == first
    assert select(second.id) == second


def test_an_environment_may_hold_a_slash(make_run, edit):
    run = make_run()
    edit(run, env="ALE/Pong-v5")
    assert select("@last:ALE/Pong-v5") == run


def test_a_tag_means_its_newest_run(make_run):
    runs = [make_run() for _ in range(3)]
    runs[0].tag("baseline")
    runs[1].tag("baseline")
    assert select("baseline") == runs[1]
    with pytest.raises(UserError, match="did you mean 'baseline'"):
        select("basline")


def test_a_folder_anywhere_is_a_run(make_run, tmp_path, monkeypatch):
    run = make_run()
    away = tmp_path / "away" / "best-ever"
    away.parent.mkdir()
    run.folder.rename(away)
    assert select(str(away)) == Run(away)
    monkeypatch.chdir(away.parent)
    assert select("best-ever").info()["id"] == "best-ever"
    assert select("./best-ever").folder.resolve() == away
    with pytest.raises(UserError, match="there is no run 'no/such/folder'"):
        select("no/such/folder")


def test_the_best_is_the_best_test_score(make_run):
    make_run(score=100.0)
    best = make_run(score=300.0)
    make_run(score=200.0, best=500.0)
    make_run("Acrobot-v1", score=1000.0)
    make_run(score=float("nan"))
    make_run(score=None)
    assert select("@best-of:CartPole-v1") == best


def test_a_run_without_test_score_stands_by_its_best_evaluation(make_run):
    make_run(score=100.0)
    stopped = make_run(status="interrupted", score=None, best=400.0)
    assert select("@best-of:CartPole-v1") == stopped


def test_of_equal_scores_the_cheapest_solved_one_wins(make_run):
    make_run(score=500.0, solved=False, env_steps=10)
    make_run(score=500.0, solved=True, env_steps=900)
    cheap = make_run(score=500.0, solved=True, env_steps=800, steps_to_threshold=200)
    make_run(score=500.0, solved=True, env_steps=300)
    assert select("@best-of:CartPole-v1") == cheap
    newest = make_run(score=500.0, solved=True, env_steps=800, steps_to_threshold=200)
    assert select("@best-of:CartPole-v1") == newest


def test_nothing_scored_yet(make_run):
    make_run(score=None)
    with pytest.raises(UserError, match=r"no run of CartPole-v1 in .* has been scored yet"):
        select("@best-of:CartPole-v1")
    with pytest.raises(UserError, match=r"no run of CartPole-v0 .*did you mean 'CartPole-v1'"):
        select("@best-of:CartPole-v0")
