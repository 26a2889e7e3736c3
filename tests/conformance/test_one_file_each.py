"""A sink, an algorithm, a family, an encoder, a launcher: each is one file outside the package."""

import os
import sys
from pathlib import Path

import pytest

import spotter
from spotter.cli.main import run as run_command
from spotter.launch import launch as launching
from spotter.launch.dispatch import Dispatcher
from spotter.rundir.identity import home
from spotter.rundir.run import Run
from tests.docs.blocks import ROOT, of_page
from tests.launch.test_dispatch import wait_for

FAMILY = """
    import gymnasium as gym
    import numpy as np

    from spotter.config import EnvConfig
    from spotter.envs.base import make_registered
    from spotter.types import EnvInfo


    class Config(EnvConfig):
        bright: int = 255


    def make(env, render=False):
        made = make_registered(env, render)
        made.unwrapped.bright = env.bright
        return made


    def describe(env):
        return EnvInfo(action_names=("wait", "press"))


    class Dot(gym.Env):
        observation_space = gym.spaces.Box(0, 255, (1, 10, 10), np.uint8)
        action_space = gym.spaces.Discrete(2)
        bright = 0

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self._look(), {}

        def step(self, action):
            reward = float(action == self.lit)
            return self._look(), reward, bool(self.np_random.random() < 0.1), False, {}

        def _look(self):
            self.lit = int(self.np_random.integers(2))
            return np.full((1, 10, 10), self.lit * self.bright, np.uint8)


    if "Dot-v0" not in gym.registry:
        gym.register("Dot-v0", Dot)
"""
ENCODER = """
    from torch import nn

    from spotter.config import EncoderConfig


    class Config(EncoderConfig):
        width: int = 4


    def build(shape, policy, config):
        channels, height, _ = shape
        return nn.Sequential(nn.Conv2d(channels, config.width, (height, 1)), nn.Flatten())
"""
SHORT = ("eval.every_steps=null", "eval.episodes=1", "video.when=null")


@pytest.fixture(autouse=True)
def outside(folder, monkeypatch):
    """Five files in an empty folder; algorithm, sink and launcher are those of the how-to."""
    page = of_page(ROOT / "docs/howto/add-a-plugin.md")
    theirs = {block.mark("file"): block.text for block in page if block.mark("file")}
    files = {"dots.py": FAMILY, "bars.py": ENCODER}
    files |= {name: theirs[name] for name in ("signs.py", "table.py", "ssh.py")}
    for name, text in files.items():
        folder(name, text)
    monkeypatch.syspath_prepend(str(Path.cwd()))
    yield
    for name in files:
        sys.modules.pop(name.removesuffix(".py"), None)


def test_two_updates_with_one_of_each():
    result = spotter.train(
        "dots:Dot-v0:signs", *SHORT, "env.family=dots", "env.bright=200", "env.count=2",
        "policy.encoder={name: bars, width: 3}", "sinks=[{name: table, column: time/fps}]",
        "algo.steps=16", "budget.env_steps=64", quiet=True,
    )  # fmt: skip
    saved = Run(result.run.folder).config()
    assert (saved.env.family, saved.env.bright) == ("dots", 200)
    assert (saved.algo.name, saved.algo.steps) == ("signs", 16)
    assert saved.policy.encoder.model_dump() == {"name": "bars", "width": 3}
    assert result.policy.network.actor.encoders[0][0].out_channels == 3
    rows = [line.split() for line in Path("table.txt").read_text().splitlines()]
    assert [int(steps) for steps, _ in rows] == [32, 64], "two updates, one row each"
    assert all(float(fps) > 0 for _, fps in rows)


@pytest.mark.parametrize("address", ["CartPole-v1", "Blackjack-v1"])
def test_an_algorithm_with_and_without_a_recipe(address):
    result = spotter.train(f"{address}:signs", *SHORT, "budget.env_steps=256", quiet=True)
    assert (result.config.algo.name, result.reason) == ("signs", "budget")


SSH = """\
#!{python}
# Stands in for ssh: runs what follows the name of the machine on this one, as a login shell would.
import subprocess, sys
sys.exit(subprocess.run(["sh", "-c", " ".join(sys.argv[2:])]).returncode)
"""


@pytest.mark.skipif(os.name == "nt", reason="the launcher of the how-to speaks to a Unix shell")
def test_a_launcher_of_ones_own_is_one_file(tmp_path, monkeypatch, capsys):
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(SSH.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setattr("spotter.cli.launching._QUEUE_S", 60.0)  # on a machine that is busy
    words = ["CartPole-v1:ppo", *SHORT, "budget.env_steps=256", "--launch", "ssh"]
    assert run_command(["train", *words, "launch.host=big"]) == 0
    launch = next(launching.every(home()))
    assert str(launch) in capsys.readouterr().out and launch.config.host == "big"
    wait_for(launch.end)
    assert launch.failure() is None
    info = Run(home() / launch.run_id()).info()
    assert (info["status"], info["launch"]) == ("finished", launch.token)

    assert run_command(["train", *words, "launch.host=big", "env.kwargs={nonsense: 1}"]) == 2
    assert "nonsense" in capsys.readouterr().err
    assert run_command(["train", *words, "launch.hots=big"]) == 2
    assert "did you mean" in capsys.readouterr().err

    long = ["budget.env_steps=100000000", "env.threshold=100000", "launch.host=big"]
    assert run_command(["train", *words, *long]) == 0
    launch = max(launching.every(home()), key=lambda launch: launch.run_id() or "")
    run = Run(home() / wait_for(launch.run_id))
    wait_for(lambda: any(True for _ in run.metrics()))
    Dispatcher(home()).stop(run)
    wait_for(launch.end)
    assert run.info()["status"] == "interrupted"
