"""Nothing grows: neither over updates nor over runs in one process."""

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from spotter.rundir.run import Run
from spotter.training.run import train
from spotter.training.training import Training
from tests.faults.processes import SOAK

UPDATES = 1_000 if SOAK else 150
RUNS = 50 if SOAK else 8
MEGABYTE = 1 << 20


def resident() -> int:
    """Bytes of memory this process holds."""
    gc.collect()
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * 4096
    if sys.platform == "darwin":
        out = subprocess.run(["ps", "-o", "rss=", "-p", "self"], capture_output=True, check=True)
        return int(out.stdout) * 1024
    pytest.skip("no cheap way to ask for memory here")


def test_updates_do_not_grow_memory(make_config):
    with Training(make_config("CartPole-v1", budget={"env_steps": None})) as training:
        for _ in range(50):
            training.step()
        before = resident()
        for _ in range(UPDATES):
            training.step()
        grown = resident() - before
    assert grown < 8 * MEGABYTE, f"{grown / MEGABYTE:.1f} MB over {UPDATES} updates"


def test_runs_do_not_grow_memory(make_config):
    config = make_config(
        "CartPole-v1",
        budget={"env_steps": 256},
        eval={"every_steps": 128, "episodes": 4},
        video={"when": None},
    )

    def once():
        train(config, new_run=lambda: Run.create(config, "x"))

    for _ in range(4):
        once()
    before = resident()
    for _ in range(RUNS):
        once()
    grown = resident() - before
    assert grown < 0.3 * MEGABYTE * RUNS + 4 * MEGABYTE, f"{grown / MEGABYTE:.1f} MB in {RUNS} runs"
