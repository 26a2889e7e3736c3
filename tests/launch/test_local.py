"""Runs from the page: processes of their own that are started, stopped, resumed and forked."""

import os
import signal
import subprocess
import sys
import time

import pytest

from spotter.launch.local import Launcher, tail
from spotter.rundir import checkpoints, lock
from spotter.rundir.run import Run
from spotter.types import UserError
from tests.studio.making import make_run

SHORT = ["budget.env_steps=1000", "eval.episodes=1", "eval.every_steps=null", "video.when=null"]
LONG = ["budget.env_steps=100000000", "eval.episodes=1", "eval.every_steps=null",
        "env.threshold=100000", "video.when=null"]  # fmt: skip


def wait_for(condition, seconds=90.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


@pytest.fixture
def launcher(tmp_path, monkeypatch):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path / "runs"))
    launcher = Launcher(tmp_path / "runs")
    yield launcher
    for launch in launcher.launches:
        if launch.process.poll() is None:
            launch.process.kill()
        launch.process.wait()


def begun(launcher, launch):
    id = wait_for(lambda: launch.run_id() or launch.failure())
    run = Run(launcher.runs / id)
    assert run.metrics_path.parent.is_dir(), id
    return run


def test_start_stop_resume_and_fork(launcher):
    launch = launcher.start("CartPole-v1:ppo", LONG, why="to be stopped")
    run = begun(launcher, launch)
    assert run.info()["why"] == "to be stopped"
    assert os.name == "nt" or os.getsid(launch.process.pid) == launch.process.pid
    with pytest.raises(UserError, match="being trained"):
        launcher.resume(run)
    wait_for(lambda: any(True for _ in run.metrics()))

    launcher.stop(run)
    assert launcher.is_stopping(run.id, launch.process.pid)
    with pytest.raises(UserError, match="stopping already"):  # a second Ctrl-C would not save
        launcher.stop(run)
    with pytest.raises(UserError, match="stopping already"):  # nor would another server's
        Launcher(launcher.runs).stop(run)
    launch.process.wait(60)
    info = run.info()
    assert info["status"] == "interrupted"
    assert checkpoints.read(run.folder)[-1].env_steps == info["env_steps"] > 0
    with pytest.raises(UserError, match="not being trained"):
        launcher.stop(run)
    wait_for(lambda: not list(launcher.runs.glob(".launched/*.stop")), 10)

    more = [f"budget.env_steps={info['env_steps'] + 256}"]
    resumed = launcher.resume(run, more)
    resumed.process.wait(90)
    assert resumed.failure() is None
    assert resumed.run_id() == run.id
    assert run.info()["status"] == "finished" and len(run.info()["resumes"]) == 1

    forked = launcher.fork(run, "@latest", "CartPole-v1:ppo", SHORT, actor="agent x\nvia mcp")
    forked.process.wait(90)
    child = begun(launcher, forked)
    assert child.info()["parent"]["run"] == run.id
    assert child.info()["by"] == "agent x via mcp" != run.info()["by"]


def test_a_wrong_setting_starts_nothing(launcher):
    with pytest.raises(UserError, match=r"did you mean algo\.lr"):
        launcher.start("CartPole-v1:ppo", ["algo.lrr=1"])
    with pytest.raises(UserError, match="no checkpoint"):
        launcher.fork(make_run(launcher.runs), "../..", "CartPole-v1:ppo")
    assert launcher.launches == []


def test_a_fixed_setting_resumes_nothing(launcher):
    run = make_run(launcher.runs)
    with pytest.raises(UserError, match=r"policy\.hidden cannot change .* a fork of it"):
        launcher.resume(run, ["policy.hidden=[8]"])
    assert launcher.launches == []


def test_what_a_server_left_behind_that_is_gone_is_swept_away(launcher):
    run = make_run(launcher.runs, status="running")
    folder = launcher.runs / ".launched"
    folder.mkdir()
    holder = lock.living_holder(run.folder, run.info())
    kept = launcher._marker(run.id, holder)
    for marker in (kept, folder / f"{run.id}-99999999-1.stop", folder / "20990101-x-1-1.stop"):
        marker.touch()
    launcher._new_log()
    assert list(folder.glob("*.stop")) == [kept]


def test_a_start_that_fails_says_why(launcher):
    launch = launcher.start("CartPole-v1:ppo", ["env.kwargs={nonsense: 1}", *SHORT])
    launch.process.wait(90)
    assert "nonsense" in launch.failure()
    assert "\n" not in launch.failure()
    assert launch.run_id() is None


@pytest.mark.skipif(os.name == "nt", reason="other signals there")
def test_a_run_started_elsewhere_can_be_stopped_too(launcher):
    command = [sys.executable, "-m", "spotter", "train", "CartPole-v1:ppo", *LONG, "--quiet"]
    env = {**os.environ, "SPOTTER_RUNS": str(launcher.runs)}
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        found = wait_for(lambda: [p for p in launcher.runs.glob("2*") if (p / "run.json").exists()])
        run = Run(found[0])
        wait_for(lambda: any(True for _ in run.metrics()))
        launcher.stop(run)
        assert process.wait(60) == 130
        assert run.info()["status"] == "interrupted"
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()


def test_a_run_of_another_machine_is_not_stopped_here(launcher):
    run = make_run(launcher.runs, status="running")
    lock = next(run.folder.glob("trainer-*.lock"))
    lock.write_text(lock.read_text().replace(run.info()["host"], "elsewhere"))
    with pytest.raises(UserError, match="stop it there"):
        launcher.stop(run)


def test_the_tail_of_a_log_begins_with_a_whole_line(tmp_path):
    path = tmp_path / "run.log"
    path.write_text("".join(f"line {n}\n" for n in range(1000)))
    assert tail(path, 100).splitlines()[0].startswith("line ")
    assert tail(path, 100).endswith("line 999\n")
    assert tail(tmp_path / "none") == ""
