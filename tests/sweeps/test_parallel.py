"""`spotter.train(…, seeds=…, jobs=2)`: runs in processes of their own, results as from this one."""

import gymnasium
import numpy as np
import pytest

import spotter
from spotter.config import resolve
from spotter.launch import group as launching
from spotter.rundir.registry import listing
from spotter.sweeps import parallel
from spotter.types import UserError
from tests.launch.test_group import Launch

SHORT = ("budget.env_steps=500", "eval.every_steps=null", "eval.episodes=1", "video.when=null")
SMALL = {"algo": {"lr": np.float64(1e-3)}, "policy.hidden": (8, 8)}


def test_several_at_once_are_the_results_of_one_after_the_other(folder, capfd):
    group = spotter.train(
        "CartPole-v1:ppo", *SHORT, seeds=range(2), jobs=2, quiet=True, why="both", **SMALL
    )
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")
    alone = spotter.train("CartPole-v1:ppo", *SHORT, seed=1, quiet=True, **SMALL)
    result = group.results[1]
    assert [one.config.seed for one in group] == [0, 1]
    assert result.config == alone.config and result.test.scores == alone.test.scores
    assert (result.reason, result.env_steps) == (alone.reason, alone.env_steps)
    seen = np.array([0.1, -0.2, 0.05, 0.3], np.float32)
    assert result.policy.predict(seen)[0] == alone.policy.predict(seen)[0]
    assert group.score.count == 2 and group._repr_html_().count("<div>") == 2
    infos = [info for info in listing().infos if info["group"]]
    assert {(info["group"], info["seed"], info["why"]) for info in infos} == {
        (group.name, 0, "both"), (group.name, 1, "both")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"jobs": 2}, "jobs needs seeds"),
        ({"seeds": [1, 2], "jobs": 0}, "jobs should be 1 or more, not 0"),
        ({"seeds": [1, 2], "jobs": True}, "jobs should be 1 or more, not True"),
        ({"seeds": [1, 2], "jobs": 2, "save": False}, "save=False"),
    ],
)
def test_mistakes_are_one_sentence(folder, given, sentence):
    with pytest.raises(UserError, match=sentence):
        spotter.train("CartPole-v1:ppo", **given)
    assert not listing().infos


@pytest.mark.parametrize(
    "env",
    [lambda: gymnasium.make("CartPole-v1"), gymnasium.make("CartPole-v1")],
    ids=["function", "instance"],
)
def test_an_environment_that_exists_here_only_is_refused(folder, env):
    with pytest.raises(UserError, match=r"jobs=2 .* module of its own, or leave out jobs"):
        spotter.train(env, seeds=[1, 2], jobs=2)
    assert not listing().infos


def test_settings_become_words_of_the_command_line():
    edits = ["algo.lr=1e-3", {"algo": {"gamma": np.float64(0.9)}, "reward.clip": None}]
    edits += [{"algo.clip": {"start": 0.2, "end": 0.1}, "policy.hidden": (8, 8)}]
    words = parallel.words(edits)
    assert "reward.clip=null" in words
    assert resolve("CartPole-v1:ppo", words).config == resolve("CartPole-v1:ppo", edits).config


def test_a_failure_says_which_seed_and_where_the_others_are(folder, monkeypatch):
    def spawn(self, words, why="", actor=""):
        launch = Launch(words)
        launch.code = 1
        return launch

    monkeypatch.setattr(launching.Dispatcher, "spawn", spawn)
    with pytest.raises(UserError, match=r"seed 1 failed: the environment is broken \(group g\)"):
        spotter.train("CartPole-v1:ppo", seeds=[1, 2], jobs=2, group="g", quiet=True)
