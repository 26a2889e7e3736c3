"""Runs side by side, with intervals that mean what they say."""

import math

import pytest

from spotter.intervals import interval, t_quantile
from spotter.rundir import compare
from spotter.rundir.view import RunView


def seeded(make_run, seed, scores, **fields):
    return RunView(make_run(config={"seed": seed}, scores=scores, **fields))


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (4, 2.776), (5, 2.571), (9, 2.262), (19, 2.093), (99, 1.984)],
)
def test_quantiles_as_in_the_tables(freedom, quantile):
    assert t_quantile(freedom) == pytest.approx(quantile, abs=2e-3)


def test_an_interval():
    found = interval([1.0, 2.0, 3.0])
    assert found.mean == 2
    assert found.half == pytest.approx(4.3027 / math.sqrt(3))
    assert interval([4.0]).half is None
    assert interval([4.0, 4.0]).half == 0


def test_p37_doubling_episodes_does_not_narrow_the_interval_over_seeds(make_run):
    scores = {1: [10.0, 12.0], 2: [20.0, 22.0], 3: [31.0, 29.0]}
    few = [seeded(make_run, seed, found) for seed, found in scores.items()]
    many = [seeded(make_run, seed, found * 50) for seed, found in scores.items()]
    (of_few,), (of_many,) = compare.groups(few), compare.groups(many)
    assert of_few.score == of_many.score == interval([11.0, 21.0, 30.0])
    assert of_few.score.count == 3
    assert many[0].score.half < few[0].score.half, "episodes say more about that one policy"


def test_the_same_seed_twice_is_no_second_opinion(make_run):
    twice = [seeded(make_run, 1, [10.0]), seeded(make_run, 1, [10.0])]
    assert compare.groups(twice) == []


def test_other_settings_are_another_group(make_run):
    slow = {"algo": {"name": "ppo", "lr": 1e-5}}
    runs = [
        make_run(config={"seed": seed, **extra}, scores=[float(seed)])
        for extra in ({}, slow)
        for seed in (1, 2)
    ]
    found = compare.groups([RunView(run) for run in runs])
    assert [[one.run for one in group.views] for group in found] == [runs[:2], runs[2:]]


def fingerprinted(make_run, text):
    run = make_run()
    data = {"seeds": "test", "env_steps": 100, "score": 1.0, "scores": [1.0], "fingerprint": text}
    run.event("evaluation", data)
    return RunView(run)


def test_different_games_are_not_compared_in_silence(make_run):
    cart = RunView(make_run(scores=[1.0]))
    (sentence,) = compare.warnings([cart, RunView(make_run("Acrobot-v1", scores=[1.0]))])
    assert "different environments (Acrobot-v1, CartPole-v1)" in sentence
    longer = RunView(make_run(scores=[1.0], config={"env": {"time_limit": 50}}))
    (sentence,) = compare.warnings([cart, longer])
    assert sentence == (
        "CartPole-v1 was played on unlike terms (time_limit null / 50): scores do not compare"
    )
    clipped = RunView(make_run(scores=[1.0], config={"reward": {"clip": 1.0}}))
    (sentence,) = compare.warnings([cart, clipped])
    assert "was trained on unlike terms (clip null / 1), which scores leave out" in sentence
    (sentence,) = compare.warnings([fingerprinted(make_run, "a"), fingerprinted(make_run, "b")])
    assert "CartPole-v1 was set up differently" in sentence
    assert compare.warnings([cart, fingerprinted(make_run, "a")]) == []
    more_copies = RunView(make_run(scores=[1.0], config={"env": {"count": 2}}))
    assert compare.warnings([cart, more_copies]) == []
    (sentence,) = compare.warnings([cart, RunView(make_run(scores=[1.0], seeds="eval"))])
    assert "an eval score is the best of several" in sentence


def test_p19_sticky_games_are_not_compared_in_silence(make_run):
    def played(sticky):
        env = {"family": "tests.config.fake_family", "sticky": sticky}
        return RunView(make_run(scores=[1.0], config={"env": env}))

    (sentence,) = compare.warnings([played(0.0), played(0.25), played(0.25)])
    assert "unlike terms (sticky 0 / 0.25 / 0.25): scores do not compare" in sentence
    assert compare.warnings([played(0.25), played(0.25)]) == []


def test_older_runs_are_compared_by_what_their_settings_stand_for(make_run, edit):
    def older(**env):
        run = make_run(scores=[1.0], config={"env": env})
        edit(run, fingerprint="", facts={})
        text = (run.folder / "config.yaml").read_text()
        (run.folder / "config.yaml").write_text(text.replace("  protocol: null\n", ""))
        return RunView(run)

    now = RunView(make_run(scores=[1.0]))
    assert compare.warnings([older(), now]) == []
    (sentence,) = compare.warnings([older(time_limit=50), now])
    assert "unlike terms (time_limit 50 / null)" in sentence


def test_runs_whose_settings_nobody_understands_any_more(make_run, edit):
    def strange(limit):
        run = make_run(scores=[1.0], config={"env": {"time_limit": limit}})
        edit(run, fingerprint="", facts={})
        path = run.folder / "config.yaml"
        path.write_text(path.read_text().replace("  mask: true\n", "  masks: true\n"))
        return RunView(run)

    (sentence,) = compare.warnings([strange(50), strange(60)])
    assert "CartPole-v1 was set up differently" in sentence
    assert compare.warnings([strange(50), strange(50)]) == []


def test_settings_that_differ():
    sides = [
        {"seed": 1, "algo": {"name": "ppo", "lr": {"start": 0.1, "end": 0.0}, "clip": 0.2}},
        {"seed": 1, "algo": {"name": "a2c", "lr": 0.1}},
        {"seed": 1, "algo": {"name": "ppo", "lr": 0.1, "clip": 0.2}, "threads": None},
    ]
    assert compare.differing(sides) == {
        "algo.name": ["ppo", "a2c", "ppo"],
        "algo.lr": ["{start: 0.1, end: 0.0}", "0.1", "0.1"],
        "algo.clip": ["0.2", "-", "0.2"],
    }
