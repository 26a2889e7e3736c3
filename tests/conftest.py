"""Shared by all tests: small, complete configs, and a working folder of one's own."""

import os
import signal
import sys
import tempfile
from pathlib import Path
from textwrap import dedent

import gymnasium as gym
import pytest
import torch

from spotter.config import RunConfig, validate
from tests import certificates, left_out

certificates.watch()

if os.name == "posix" and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    # started by nohup: what tests start would inherit that, and a handler is not inherited
    signal.signal(signal.SIGHUP, lambda number, frame: None)


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.stats.get("skipped", ())
    reasons = [report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple)]
    for line in (*left_out.lines(reasons), *certificates.lines()):
        terminalreporter.write_line(line)


_state = tempfile.TemporaryDirectory(prefix="spotter-state-")
os.environ["SPOTTER_STATE"] = _state.name
"""No test touches the user's own; processes that tests start inherit it."""


@pytest.fixture(autouse=True)
def confirmed_certificates(request):
    """Once a test is over and its changes are undone; `unrepeatable` is a marker."""
    yield
    certificates.confirm(is_repeatable=request.node.get_closest_marker("unrepeatable") is None)


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def runs_elsewhere(tmp_path_factory, monkeypatch):
    """No test leaves runs in the working folder."""
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path_factory.mktemp("runs")))


@pytest.fixture(autouse=True)
def modules_of_one_test(tmp_path_factory):
    """What a test wrote and imported is unknown to the next one, whose file may have its name."""
    path, known, ids = list(sys.path), set(sys.modules), set(gym.registry)
    yield
    sys.path[:] = path
    folder = str(tmp_path_factory.getbasetemp())
    for name in set(sys.modules) - known:
        file = str(getattr(sys.modules[name], "__file__", None) or "")
        if file.startswith(folder):
            del sys.modules[name]
            text = Path(file).read_text(encoding="utf-8") if Path(file).is_file() else ""
            for env_id in {id for id in set(gym.registry) - ids if id in text}:
                del gym.registry[env_id]


@pytest.fixture
def make_config():
    """A valid config for any environment, with short rollouts."""

    def make(env_id: str, algo: str | dict = "ppo", **sections) -> RunConfig:
        data = {
            "env": {"id": env_id, "family": "gymnasium", "count": 4},
            "algo": dict(algo) if isinstance(algo, dict) else {"name": algo},
            "budget": {"env_steps": 1000},
            "eval": {"every_steps": 10_000, "episodes": 20},
        }
        for name, section in sections.items():
            merged = {**data.get(name, {}), **section} if isinstance(section, dict) else section
            data[name] = merged
        if data["algo"]["name"] != "reinforce":
            data["algo"].setdefault("steps", 16)
        return validate(data)

    return make


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder; `folder(name, text)` writes a file into it."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, text: str) -> Path:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return write
