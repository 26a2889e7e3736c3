"""Killed at any moment, a run loses nothing but the updates since its last save."""

import os
import random
import signal
import time

import pytest

from spotter.rundir.run import Run
from spotter.training import checkpoint
from tests.faults.processes import SOAK, finish, interrupt, spotter, wait_for

KILLS = 25 if SOAK else 3
SETTINGS = (
    "eval.stop_when_solved=false",
    "eval.episodes=5",
    "eval.every_steps=2000",
    "checkpoint.every_s=0.2",
    "video.when=null",
)
BUDGET = 60_000 if SOAK else 12_000
pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")


def start(home, *args):
    return spotter("train", *args, "--quiet", home=home)


def begin(home, budget=BUDGET):
    return start(home, "CartPole-v1:ppo", *SETTINGS, f"budget.env_steps={budget}")


def only_run(home) -> Run | None:
    found = list(home.glob("*/run.json"))
    return Run(found[0].parent) if found else None


def has_saved(home) -> bool:
    run = only_run(home)
    return run is not None and (run.folder / "checkpoints" / "latest.json").exists()


def check_whole(run: Run) -> None:
    """What must hold at any moment."""
    rows = [row["update"] for row in run.metrics()]
    assert rows == list(range(1, len(rows) + 1)), "no row is torn, lost or doubled"
    list(run.events())
    saved = checkpoint.read(checkpoint.find_in(run, "@latest"))
    assert saved.trainer["training"]["updates"] <= len(rows) + 1
    assert run.info()["id"] == run.id


def without_clock(run: Run) -> list[dict]:
    return [
        {key: value for key, value in row.items() if not key.startswith("time/")}
        for row in run.metrics()
    ]


def test_p42_kill_nine_at_random_points_and_go_on(tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    draw = random.Random(time.time_ns())
    process = begin(killed)
    for _ in range(KILLS):
        wait_for(lambda: has_saved(killed), process)
        time.sleep(draw.uniform(0.0, 1.0))
        process.kill()
        process.communicate()
        run = only_run(killed)
        check_whole(run)
        if run.info()["status"] == "finished":
            break
        process = start(killed, "--resume", "@last")
    code, _, err = finish(process)
    assert code == 0 or "finished" in run.info()["status"] or "spent its budget" in err, err
    code, _, err = finish(begin(whole))
    assert code == 0, err
    check_whole(only_run(killed))
    ours, theirs = without_clock(only_run(whole)), without_clock(only_run(killed))
    for a, b in zip(ours, theirs, strict=True):
        a.pop("alerts", None), b.pop("alerts", None)  # fps alerts depend on the clock
        assert a == b, "as if it had never been killed"


def test_sigterm_saves_and_says_so(tmp_path):
    process = begin(tmp_path, budget=10_000_000)
    wait_for(lambda: has_saved(tmp_path), process)
    process.terminate()
    code, out, err = finish(process)
    assert code == 143, err
    run = only_run(tmp_path)
    check_whole(run)
    assert (run.info()["status"], run.info()["reason"]) == ("interrupted", "terminated")
    last = list(run.metrics())[-1]["env_steps"]
    assert checkpoint.read(checkpoint.find_in(run, "@latest")).env_steps == last
    assert "terminated after" in out


def test_one_interrupt_saves_and_two_leave_at_once(tmp_path):
    process = begin(tmp_path, budget=10_000_000)
    wait_for(lambda: has_saved(tmp_path), process)
    interrupt(process)
    code, out, err = finish(process)
    assert code == 130, err
    assert "interrupted after" in out
    assert "Traceback" not in err
    run = only_run(tmp_path)
    last = list(run.metrics())[-1]["env_steps"]
    assert checkpoint.read(checkpoint.find_in(run, "@latest")).env_steps == last

    process = start(tmp_path, "--resume", "@last")
    rows = run.metrics_path.stat().st_size
    wait_for(lambda: run.metrics_path.stat().st_size > rows, process)
    process.send_signal(signal.SIGSTOP)
    interrupt(process)
    process.send_signal(signal.SIGCONT)
    interrupt(process)
    code, _, err = finish(process, timeout=600)
    assert code == 130, err
    assert "Traceback" not in err
    check_whole(run)


def test_a_run_cannot_be_trained_twice_at_once(tmp_path):
    process = begin(tmp_path, budget=10_000_000)
    wait_for(lambda: has_saved(tmp_path), process)
    code, _, err = finish(start(tmp_path, "--resume", "@last"))
    assert code == 2
    assert f"is being trained by process {process.pid}" in err
    process.terminate()
    finish(process)
