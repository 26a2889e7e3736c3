"""`spotter train … --seeds`: the verdict, and the exit code."""

import pytest

from spotter.config import resolve
from spotter.intervals import Interval
from spotter.launch import group as launching
from spotter.rundir.group import Verdict
from spotter.rundir.identity import home
from spotter.rundir.registry import listing
from spotter.sweeps import train_group
from spotter.sweeps.train_group import verdict
from tests.launch.test_group import Launch
from tests.rundir.making import maker


@pytest.mark.parametrize(
    ("found", "wanted", "sentence"),
    [
        (
            Verdict(Interval(480.0, 12.5, 3), (1, 2, 3), 2, 475.0), 3,
            "X: 480 ± 12.5 (95 % over 3 seeds: 1, 2, 3), 2 of 3 solved (group g)",
        ),
        (Verdict(Interval(7.0, None, 1), (4,), 0, None), 1, "X: 7 (seed 4) (group g)"),
        (
            Verdict(Interval(7.0, None, 1), (4,), 0, None), 3,
            "X: 7 (seed 4), 2 not tested (group g)",
        ),
        (
            Verdict(Interval(7.0, None, 2), (4, 5), 0, None), 2,
            "X: 7 (2 seeds: 4, 5; an interval needs 3 seeds) (group g)",
        ),
        (Verdict(None, (), 0, None), 2, "X: no seed was tested (group g)"),
    ],
)  # fmt: skip
def test_the_verdict_is_one_line(found, wanted, sentence):
    assert verdict("X", "g", found, wanted) == sentence


@pytest.fixture
def finished(folder):
    """A group whose two seeds were trained before, so that nothing is left to train."""
    make = maker(lambda env_id, seed: resolve(f"{env_id}:ppo", [{"seed": seed}]).config)
    for seed, solved in ((1, True), (2, False)):
        make(config={"seed": seed}, group="g", score=400.0 + seed, solved=solved, threshold=475.0)


def test_a_group_that_is_complete_is_not_trained_again(spotter, finished):
    command = ("train", "CartPole-v1:ppo", "--seeds", "1-2", "--group", "g", "--quiet")
    ran = spotter(*command)
    assert ran.code == 0
    assert "401.5" in ran.out and "1 of 2 solved (group g)" in ran.out
    assert "trained before: seed 1, 2; another --group NAME trains again" in ran.err
    assert spotter(*command, "--require-solved").code == 1
    assert len(listing().infos) == 2


def test_other_settings_under_the_same_name_are_refused(spotter, finished):
    ran = spotter("train", "CartPole-v1:ppo", "algo.lr=1", "--seeds", "1-2", "--group", "g")
    assert ran.code == 2 and "group g has a run with another algo.lr" in ran.err


@pytest.mark.parametrize(("ends", "code"), [((2, 2), 2), ((2, 1), 1)])
def test_what_every_run_refuses_is_a_mistake_of_the_command(
    spotter, folder, monkeypatch, ends, code
):
    left = list(ends)

    def spawn(self, words, why="", actor=""):
        launch = Launch(words)
        launch.code = left.pop(0)
        monkeypatch.setattr(launch, "failure", lambda: "the environment is not there")
        return launch

    monkeypatch.setattr(launching.Dispatcher, "spawn", spawn)
    ran = spotter("train", "CartPole-v1:ppo", "--seeds", "1-2", "--group", "g", "--quiet")
    assert ran.code == code
    sentence = "spotter: the environment is not there\n" if code == 2 else ""
    assert ran.err == sentence
    assert ("no seed was tested (group g)" in ran.out) == (code == 1)


def test_a_group_is_not_resumed_by_its_name(spotter, folder):
    make = maker(lambda env_id, seed: resolve(f"{env_id}:ppo", [{"seed": seed}]).config)
    make(config={"seed": 1}, group="g")
    stopped = make(config={"seed": 2}, group="g", status="interrupted")
    ran = spotter("train", "--resume", "g")
    assert ran.code == 2
    assert ran.err == (
        "spotter: --resume continues one run and g is a group: the command that started it, with "
        f"--seeds, continues what is missing, or give one run, such as {stopped.id}\n"
    )


def test_runs_of_a_group_start_from_what_was_last_when_it_began(spotter, folder, monkeypatch):
    """`@last` is another run as soon as the first of them has started."""
    little = ("budget.env_steps=256", "eval.every_steps=null", "eval.episodes=1", "video.when=null")
    assert spotter("train", "CartPole-v1:ppo", *little, "--quiet").code == 0
    before = listing().infos[0]["id"]
    asked = []
    monkeypatch.setattr(train_group, "train", lambda plan, *_: asked.append(plan))
    forks = ("train", "CartPole-v1:ppo", *little, "--from", "@last", "--fresh-optimizer")
    assert spotter(*forks, "--seeds", "1-2", "--algo", "ppo").code == 0
    start = ["--from", f"{home() / before}/step=256", "--fresh-optimizer"]
    assert asked[0].words == ["CartPole-v1:ppo", *little, "--algo", "ppo", *start]
    assert asked[0].plan.fork.parent()["run"] == before
