"""Runs from the page: processes of their own that are started, stopped, resumed and forked."""

import os
import signal
import subprocess
import sys
import time

import pytest

from spotter.launch import launch as launching
from spotter.launch.dispatch import Dispatcher
from spotter.launch.logs import tail
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
def dispatcher(tmp_path, monkeypatch):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path / "runs"))
    dispatcher = Dispatcher(tmp_path / "runs")
    yield dispatcher
    for launch in launching.every(dispatcher.runs):
        while launch.end() is None:
            launch.stop()
            time.sleep(1.5)  # else both are one request


def begun(dispatcher, launch):
    id = wait_for(lambda: launch.run_id() or launch.failure())
    run = Run(dispatcher.runs / id)
    assert run.metrics_path.parent.is_dir(), id
    return run


def test_start_stop_resume_and_fork(dispatcher):
    launch = dispatcher.start("CartPole-v1:ppo", LONG, why="to be stopped")
    run = begun(dispatcher, launch)
    assert run.info()["why"] == "to be stopped"
    assert os.name == "nt" or os.getsid(launch.pid) == launch.pid
    with pytest.raises(UserError, match="being trained"):
        dispatcher.resume(run)
    wait_for(lambda: any(True for _ in run.metrics()))

    dispatcher.stop(run)
    assert dispatcher.is_stopping(run.id, launch.pid)
    with pytest.raises(UserError, match="stopping already"):  # a second Ctrl-C would not save
        dispatcher.stop(run)
    with pytest.raises(UserError, match="stopping already"):  # nor would another server's
        Dispatcher(dispatcher.runs).stop(run)
    wait_for(launch.end, 60)
    info = run.info()
    assert info["status"] == "interrupted"
    assert checkpoints.read(run.folder)[-1].env_steps == info["env_steps"] > 0
    with pytest.raises(UserError, match="not being trained"):
        dispatcher.stop(run)
    wait_for(lambda: not list(dispatcher.runs.glob(".launched/*.stop")), 10)

    more = [f"budget.env_steps={info['env_steps'] + 256}"]
    resumed = dispatcher.resume(run, more)
    wait_for(resumed.end, 90)
    assert resumed.failure() is None
    assert resumed.run_id() == run.id
    assert run.info()["status"] == "finished" and len(run.info()["resumes"]) == 1

    forked = dispatcher.fork(run, "@latest", "CartPole-v1:ppo", SHORT, actor="agent x\nvia mcp")
    wait_for(forked.end, 90)
    child = begun(dispatcher, forked)
    assert child.info()["parent"]["run"] == run.id
    assert child.info()["by"] == "agent x via mcp" != run.info()["by"]


def test_a_wrong_setting_starts_nothing(dispatcher):
    with pytest.raises(UserError, match=r"did you mean algo\.lr"):
        dispatcher.start("CartPole-v1:ppo", ["algo.lrr=1"])
    with pytest.raises(UserError, match="no checkpoint"):
        dispatcher.fork(make_run(dispatcher.runs), "../..", "CartPole-v1:ppo")
    assert not list(launching.every(dispatcher.runs))


def test_a_fixed_setting_resumes_nothing(dispatcher):
    run = make_run(dispatcher.runs)
    with pytest.raises(UserError, match=r"policy\.hidden cannot change .* a fork of it"):
        dispatcher.resume(run, ["policy.hidden=[8]"])
    assert not list(launching.every(dispatcher.runs))


def test_what_a_server_left_behind_that_is_gone_is_swept_away(dispatcher):
    run = make_run(dispatcher.runs, status="running")
    folder = dispatcher.runs / ".launched"
    folder.mkdir()
    holder = lock.living_holder(run.folder, run.info())
    kept = dispatcher._marker(run.id, holder)
    for marker in (kept, folder / f"{run.id}-99999999-1.stop", folder / "20990101-x-1-1.stop"):
        marker.touch()
    dispatcher._sweep()
    assert list(folder.glob("*.stop")) == [kept]


def test_a_start_that_fails_says_why(dispatcher):
    launch = dispatcher.start("CartPole-v1:ppo", ["env.kwargs={nonsense: 1}", *SHORT])
    wait_for(launch.end, 90)
    assert "nonsense" in launch.failure()
    assert "\n" not in launch.failure()
    assert launch.run_id() is None


@pytest.mark.skipif(os.name == "nt", reason="other signals there")
def test_a_run_started_elsewhere_can_be_stopped_too(dispatcher):
    command = [sys.executable, "-m", "spotter", "train", "CartPole-v1:ppo", *LONG, "--quiet"]
    env = {**os.environ, "SPOTTER_RUNS": str(dispatcher.runs)}
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        found = wait_for(
            lambda: [p for p in dispatcher.runs.glob("2*") if (p / "run.json").exists()]
        )
        run = Run(found[0])
        wait_for(lambda: any(True for _ in run.metrics()))
        dispatcher.stop(run)
        assert process.wait(60) == 130
        assert run.info()["status"] == "interrupted"
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()


def test_a_run_of_another_machine_is_not_stopped_here(dispatcher):
    run = make_run(dispatcher.runs, status="running")
    lock = next(run.folder.glob("trainer-*.lock"))
    lock.write_text(lock.read_text().replace(run.info()["host"], "elsewhere"))
    with pytest.raises(UserError, match="stop it there"):
        dispatcher.stop(run)


def test_the_tail_of_a_log_begins_with_a_whole_line(tmp_path):
    path = tmp_path / "run.log"
    path.write_text("".join(f"line {n}\n" for n in range(1000)))
    assert tail(path, 100).splitlines()[0].startswith("line ")
    assert tail(path, 100).endswith("line 999\n")
    assert tail(tmp_path / "none") == ""
