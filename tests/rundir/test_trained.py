"""Which settings a run was trained with, where a resume changed some."""

import pytest

from spotter.config.overrides import merge
from spotter.rundir import compare, trained
from spotter.rundir.trained import Span
from spotter.rundir.view import RunView


def told(*resumes, env_steps=1000):
    """run.json of a run that was resumed at `(env steps, {setting: [before, after]})`."""
    entries = [{"env_steps": at, "changes": changes} for at, changes in resumes]
    return {"env_steps": env_steps, "resumes": entries}


def gamma(before, after):
    return {"algo.gamma": [before, after]}


@pytest.fixture
def turned(make_run, edit):
    """A run of so many env steps, most of them with another gamma than its config says."""

    def make(seed=1, **fields):
        algo = {"name": "ppo", "gamma": 0.98}
        run = make_run(
            config={"seed": seed, "algo": algo}, scores=[40.0], env_steps=33_280, **fields
        )
        when = {"time": run.info()["created"], "stopped": run.info()["created"]}
        changes = {**gamma(0.3, 0.98), "budget.env_steps": [30_000, 33_000]}
        edit(run, resumes=[{**when, "env_steps": 30_208, "changes": changes}])
        return run

    return make


def test_values_in_the_order_of_training_with_their_env_steps():
    info = told((300, gamma(0.3, 0.9)), (700, {}), (900, gamma(0.9, 0.3)))
    spans = (Span(0.3, 300), Span(0.9, 600), Span(0.3, 100))
    assert trained.changed(info) == {"algo.gamma": spans}
    assert trained.words(spans) == "0.3 for 300 env steps then 0.9 for 600 then 0.3 for 100"
    assert trained.warning("x", info) == "x trained 600 of 1,000 env steps with algo.gamma=0.9"


def test_what_was_never_trained_with_does_not_count():
    undone = told((300, gamma(0.3, 0.9)), (300, gamma(0.9, 0.3)))
    assert trained.changed(undone) == {}
    corrected = told((300, gamma(0.3, 3.0)), (300, gamma(3.0, 0.9)))
    assert trained.changed(corrected) == {"algo.gamma": (Span(0.3, 300), Span(0.9, 700))}
    assert trained.changed(told((0, gamma(0.3, 0.9)))) == {}


def test_the_last_value_counts_before_anything_was_trained_with_it():
    info = told((300, gamma(0.3, 0.9)), env_steps=256)
    assert trained.changed(info) == {"algo.gamma": (Span(0.3, 300), Span(0.9, 0))}
    assert trained.warning("x", info) == "x trained 300 of 300 env steps with algo.gamma=0.3"


@pytest.mark.parametrize(
    "name",
    ["budget.env_steps", "eval.episodes", "video.when", "alerts.ignore", "checkpoint.keep",
     "threads", "device", "env.workers", "env.threshold", "policy.engine"],
)  # fmt: skip
def test_what_learning_does_not_depend_on_is_left_out(name):
    assert trained.changed(told((300, {name: [1, 2]}))) == {}


@pytest.mark.parametrize("name", ["algo.lr", "env.count", "reward.clip", "env.kwargs.x", "plateau"])
def test_what_learning_depends_on_is_not(name):
    assert [*trained.changed(told((300, {name: [1, 2]})))] == [name]


@pytest.mark.parametrize("changes", [None, [], {"algo.gamma": 3}, {"algo.gamma": [1]}])
def test_entries_that_are_none_are_passed_over(changes):
    assert trained.changed(told((300, changes), ("?", {}))) == {}


def test_settings_of_most_env_steps():
    written = {"algo": {"name": "ppo", "gamma": 0.9, "lr": 1.0}, "env": {"kwargs": {"a": 2}}}
    changes = {**gamma(0.3, 0.9), "env.kwargs.a": [None, 2]}
    most = trained.mostly(written, trained.changed(told((600, changes))))
    assert most == merge(written, {"algo": {"gamma": 0.3}})
    thrice = told((400, gamma(0.9, 0.3)), (700, gamma(0.3, 0.9)))
    assert trained.mostly(written, trained.changed(thrice)) == written
    equal = trained.changed(told((500, gamma(0.3, 0.9))))
    assert trained.mostly(written, equal) == written, "of equals, the later"


def test_compare_warns_of_a_run_that_was_mostly_trained_with_another_value(turned, make_run):
    run, other = turned(), make_run(scores=[490.0])
    (sentence,) = compare.warnings([RunView(run), RunView(other)])
    assert sentence == f"{run.id} trained 30,208 of 33,280 env steps with algo.gamma=0.3"


def test_such_a_run_is_no_other_seed(turned, make_run):
    config = {"algo": {"name": "ppo", "gamma": 0.98}}
    straight = [make_run(config=config | {"seed": seed}, scores=[490.0]) for seed in (2, 3)]
    (group,) = compare.groups([RunView(run) for run in (turned(1), *straight)])
    assert [one.run for one in group.views] == straight


def test_settings_that_differ_tell_of_every_value(turned, make_run):
    runs = [turned(), make_run(config={"algo": {"name": "ppo", "gamma": 0.98}})]
    settings = [run.settings() for run in runs]
    found = compare.differing_settings(settings, [run.info() for run in runs])
    assert found == {"algo.gamma": ["0.3 for 30,208 env steps then 0.98 for 3,072", "0.98"]}
    alike = [runs[0].info()] * 2
    assert compare.differing_settings(settings[:1] * 2, alike) == {}
