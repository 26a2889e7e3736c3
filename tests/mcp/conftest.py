"""Folders of runs for the tools: invented ones, one with 20,000 rows, one really trained."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from spotter.rundir.process import is_alive
from spotter.rundir.run import Run
from tests.studio.making import ALERT, make_run, rows

SPIKE_AT = 12_345


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """An empty folder of runs in which nothing goes on after the test."""
    folder = tmp_path / "runs"
    folder.mkdir()
    monkeypatch.setenv("SPOTTER_RUNS", str(folder))
    yield folder
    for path in folder.glob("2*/run.json"):
        pid = Run(path.parent).info()["pid"]
        if pid != os.getpid() and is_alive(pid):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="session")
def shelf(tmp_path_factory) -> Path:
    """Several runs, none of them trained: read them, write nothing."""
    home = tmp_path_factory.mktemp("mcp") / "runs"
    make_run(home, tags=("baseline",), level=450.0, lr=3e-4)
    make_run(home, level=300.0, lr=1e-3, alerts=(ALERT,))
    make_run(home, "Acrobot-v1", level=-90.0, status="interrupted")
    return home


@pytest.fixture(scope="session")
def long_shelf(tmp_path_factory) -> Path:
    """One run of 20,000 rows with a single spike in the score, and a talkative log."""
    home = tmp_path_factory.mktemp("long") / "runs"
    run = make_run(home, updates=1, alerts=(ALERT,))
    many = rows(20_000)
    many[SPIKE_AT - 1]["train/score"] = 9999.5
    run.metrics_path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in many))
    lines = "".join(f"line {number} says something that takes room\n" for number in range(20_000))
    (run.folder / "run.log").write_text(lines)
    for number in range(60):
        (run.folder / "tags").mkdir(exist_ok=True)
        run.tag(f"tag{number}")
    return home


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Run:
    """A tiny real training with a checkpoint one can play."""
    home = tmp_path_factory.mktemp("trained") / "runs"
    env = {**os.environ, "SPOTTER_RUNS": str(home), "OMP_NUM_THREADS": "1"}
    settings = ["budget.env_steps=3000", "eval.episodes=2", "video.when=null"]
    command = [sys.executable, "-m", "spotter", "train", "CartPole-v1:ppo", *settings, "--quiet"]
    subprocess.run(command, env=env, check=True, capture_output=True, timeout=120)
    return Run(next(home.glob("2*")))
