"""A folder of finished runs, a running server over it, and a page in Chromium."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spotter.rundir.run import Run
from tests.studio.browser import find as browser_path
from tests.studio.making import ALERT, make_run, start_server


@pytest.fixture(scope="session")
def studio_runs(tmp_path_factory) -> Path:
    """Several finished runs: two of CartPole with other learning rates, one of Acrobot, a child."""
    home = tmp_path_factory.mktemp("studio") / "runs"
    first = make_run(home, tags=("baseline",), level=450.0, lr=3e-4)
    make_run(home, level=300.0, lr=1e-3, alerts=(ALERT,))
    make_run(home, "Acrobot-v1", level=-90.0, status="interrupted")
    parent = {"run": first.id, "checkpoint": "step-000025600", "env_steps": 25600, "kind": "fork"}
    make_run(home, level=480.0, lr=1e-4, parent=parent)
    return home


@pytest.fixture(scope="session")
def trained(studio_runs) -> Run:
    """A tiny real training in the same folder, with checkpoints one can play."""
    before = {path.name for path in studio_runs.iterdir()}
    env = {**os.environ, "SPOTTER_RUNS": str(studio_runs), "OMP_NUM_THREADS": "1"}
    settings = ["budget.env_steps=3000", "eval.episodes=2"]
    command = [sys.executable, "-m", "spotter", "train", "CartPole-v1:ppo", *settings, "--quiet"]
    subprocess.run(command, env=env, check=True, capture_output=True, timeout=120)
    new = [path for path in studio_runs.iterdir() if path.name not in before and path.is_dir()]
    assert len(new) == 1
    return Run(new[0])


@pytest.fixture(scope="session")
def studio(studio_runs):
    """A server over `studio_runs`; tests leave the runs as they are."""
    server = start_server(studio_runs)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def _spare(tmp_path_factory):
    """A second server; starting one takes longer than most tests."""
    folder = tmp_path_factory.mktemp("spare")
    server = start_server(folder / "runs", cwd=folder)
    yield server
    server.stop()


@pytest.fixture
def own_studio(_spare):
    """A server over an empty folder of one's own, for tests that start, stop or delete runs."""
    _spare.runs.mkdir(exist_ok=True)
    yield _spare
    for run in map(Run, _spare.runs.glob("2*")):  # runs outlast what started them
        info = run.info()
        if info["status"] == "running" and info["pid"] != os.getpid():
            os.kill(info["pid"], signal.SIGKILL)
    while _spare.runs.exists():  # the server may be writing its index this very moment
        shutil.rmtree(_spare.runs, ignore_errors=True)


@pytest.fixture(scope="module")  # its event loop would be in the way of other modules' own
def chromium():
    playwright = pytest.importorskip("playwright.sync_api")
    path = browser_path()
    if path is None:
        pytest.skip("no browser")
    playwright.expect.set_options(timeout=20_000)  # other tests may keep the machine busy
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=str(path), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """A fresh window, 1280 x 800; `page.errors` collects what its console complained about."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(30_000)
    window = context.new_page()
    window.errors = []
    window.on("pageerror", lambda error: window.errors.append(str(error)))
    yield window
    context.close()
