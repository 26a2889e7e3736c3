"""A group of runs: started so many at once, completed by the same command, stopped together."""

import os
import signal
import subprocess
import sys

import pytest

from spotter.launch import group as grouping
from spotter.launch.base import End
from spotter.launch.dispatch import Dispatcher
from spotter.launch.group import GroupTraining
from spotter.rundir.identity import home
from spotter.rundir.registry import listing
from spotter.types import UserError
from tests.faults.processes import SOAK
from tests.launch.test_dispatch import SHORT, wait_for
from tests.rundir.making import maker


class Launch:
    """A process that trains when the test says so."""

    def __init__(self, words) -> None:
        self.words, self.code, self.id, self.asked = list(words), None, None, 0

    def run_id(self) -> str | None:
        return self.id

    def end(self) -> End | None:
        return None if self.code is None else End(self.code)

    def stop(self) -> None:
        self.asked += 1

    def failure(self) -> str | None:
        return "the environment is broken" if self.code == 1 else None


@pytest.fixture
def launches(monkeypatch, tmp_path):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path / "runs"))
    there: list[Launch] = []

    def spawn(self, words, why="", actor=""):
        there.append(Launch(words))
        there[-1].around = self.around
        return there[-1]

    monkeypatch.setattr(grouping.Dispatcher, "spawn", spawn)
    return there


@pytest.fixture
def make_run(make_config, launches):
    make = maker(make_config)
    return lambda seed, **how: make(config={"seed": seed}, group="g", **how)


def states(training):
    return [member.state for member in training.members]


def test_so_many_at_once(launches, make_run):
    training = GroupTraining("g", ["X"], [1, 2, 3], jobs=2)
    training.advance()
    assert states(training) == ["training", "training", "waiting"]
    assert launches[0].words == ["X", "--seed", "1", "--group", "g"]
    launches[0].id, launches[0].code = make_run(1, score=3.0).id, 0
    training.advance()
    assert states(training) == ["finished", "training", "training"]
    assert training.members[0].info["score"] == 3.0
    launches[1].code = 1
    launches[2].id, launches[2].code = make_run(3).id, 0
    training.advance()
    assert states(training) == ["finished", "failed", "finished"]
    assert training.members[1].problem == "the environment is broken"
    assert training.is_over


def test_every_process_knows_how_many_there_are(launches):
    around = Dispatcher(home(), {"A": "b"})
    GroupTraining("g", ["X"], [1, 2, 3], jobs=2, dispatcher=around).advance()
    assert [launch.around for launch in launches] == [{"A": "b", "SPOTTER_JOBS": "2"}] * 2


def test_what_is_finished_is_not_trained_again_and_what_was_stopped_is_resumed(
    launches, make_run, monkeypatch
):
    finished, stopped = make_run(1), make_run(2, status="interrupted")
    make_run(3, status="failed")
    monkeypatch.setattr(grouping, "_is_resumable", lambda info: info["id"] == stopped.id)
    training = GroupTraining("g", ["X"], [1, 2, 3], jobs=9)
    training.advance()
    assert [launch.words for launch in launches] == [
        ["--resume", stopped.id],
        ["X", "--seed", "3", "--group", "g"],
    ]
    assert training.members[0].was_finished
    assert training.members[0].info["id"] == finished.id


def test_a_seed_that_is_being_trained_is_refused(launches, make_run):
    run = make_run(2, status="running")
    with pytest.raises(UserError, match=rf"seed 2 of group g is being trained.*{run.id}"):
        GroupTraining("g", ["X"], [1, 2], jobs=1)


def test_stopping_asks_everyone_and_starts_no_more(launches, make_run):
    training = GroupTraining("g", ["X"], [1, 2, 3], jobs=2)
    training.advance()
    training.stop()
    assert [launch.asked for launch in launches] == [1, 1]
    assert not training.is_over
    for launch in launches:
        launch.code = 130
    training.advance()
    assert states(training) == ["interrupted", "interrupted", "waiting"]
    assert training.is_over and len(launches) == 2


def test_stopping_asks_once_unless_at_once_is_wanted(launches, make_run):
    training = GroupTraining("g", ["X"], [1], jobs=1)
    training.advance()
    for _ in range(2):
        training.stop()
        training.advance()
    assert launches[0].asked == 1, "twice would end it without saving"
    training.stop(at_once=True)
    assert launches[0].asked == 2


def test_a_run_that_is_being_started_when_the_request_comes_is_asked_too(
    launches, make_run, monkeypatch
):
    training = GroupTraining("g", ["X"], [1, 2], jobs=2)
    spawn = grouping.Dispatcher.spawn

    def interrupted_spawn(*given):
        training.stop()  # from the signal handler
        return spawn(*given)

    monkeypatch.setattr(grouping.Dispatcher, "spawn", interrupted_spawn)
    training.advance()
    assert [launch.asked for launch in launches] == [1]


# --- with processes ------------------------------------------------------------------------------


def command(*words: str, address: str = "CartPole-v1:ppo") -> list[str]:
    return [sys.executable, "-m", "spotter", "train", address, *words]


@pytest.fixture
def environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path / "runs"))
    return {**os.environ, "SPOTTER_RUNS": str(tmp_path / "runs")}


def test_a_group_has_one_verdict(environment):
    ran = subprocess.run(
        command(*SHORT, "--seeds", "1,2", "--jobs", "2", "--group", "both"),
        env=environment, capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    infos = listing().infos
    assert {(info["seed"], info["group"], info["status"]) for info in infos} == {
        (1, "both", "finished"), (2, "both", "finished")
    }  # fmt: skip
    first, *_, last = ran.stdout.splitlines()
    assert first == "group both: 2 seeds, 2 at once"
    assert last.startswith("CartPole-v1:ppo: ")
    assert last.endswith("(2 seeds: 1, 2; an interval needs 3 seeds), 0 of 2 solved (group both)")


soak = pytest.mark.skipif(not SOAK, reason="the same for every signal; SPOTTER_SOAK=1 runs it")


def has_learnt(runs: int) -> bool:
    return [info["env_steps"] > 0 for info in listing().infos] == [True] * runs


SLOW = """
import os, time
from gymnasium.envs.classic_control import CartPoleEnv

class Slow(CartPoleEnv):
    def step(self, action):
        if os.path.exists(os.environ["SLOW"]):
            time.sleep(0.002)
        return super().step(action)
"""
LITTLE = ["--algo", "ppo", "env.count=1", "env.backend=sync", "algo.steps=64", "algo.minibatch=64",
          "algo.epochs=1",
          "budget.env_steps=10000", *SHORT[1:]]  # fmt: skip


@pytest.fixture
def slow(environment, tmp_path):
    """An environment that is slow while a file is there: 10,000 env steps take 20 s or more."""
    (tmp_path / "slow_env.py").write_text(SLOW)
    switch = tmp_path / "slow"
    switch.touch()
    environment |= {"PYTHONPATH": str(tmp_path), "SLOW": str(switch)}
    return switch


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to a whole console only")
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("SIGTERM", 143),
        pytest.param("SIGINT", 130, marks=soak),
        pytest.param("SIGHUP", 129, marks=soak),
    ],
)
def test_a_signal_to_the_process_group_saves_all_runs_and_the_same_command_completes_them(
    environment, slow, name, code
):
    many = command(
        *LITTLE, "--seeds", "1-3", "--jobs", "2", "--group", "g", address="slow_env:Slow"
    )
    training = subprocess.Popen(
        many, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        start_new_session=True,
    )  # fmt: skip
    try:
        wait_for(lambda: training.poll() or has_learnt(2))
        os.killpg(training.pid, getattr(signal, name))
        _, said = training.communicate(timeout=90)
    finally:
        training.kill()
    assert training.returncode == code, said
    assert "the same command completes group g" in said
    stopped = {info["id"]: info for info in listing().infos}
    assert [info["status"] for info in stopped.values()] == ["interrupted", "interrupted"]
    assert all(grouping._is_resumable(info) for info in stopped.values())
    if name != "SIGTERM":  # completing is the same for all: tried once
        return
    slow.unlink()
    ran = subprocess.run(many, env=environment, capture_output=True, encoding="utf-8", timeout=200)
    assert ran.returncode == 0, ran.stderr
    assert "(95 % over 3 seeds: 1, 2, 3)" in ran.stdout
    complete = {info["id"]: info for info in listing().infos}
    assert len(complete) == 3 and stopped.keys() < complete.keys()
    assert {info["status"] for info in complete.values()} == {"finished"}
    assert all(len(complete[id]["resumes"]) == 1 for id in stopped)
