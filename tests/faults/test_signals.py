"""A signal to every process of a run, at any moment: it is saved, nothing stays behind."""

import os
import signal
import sys
import time
from itertools import product
from pathlib import Path

import pytest
import torch

if sys.platform != "linux":
    pytest.skip("needs /proc to see processes", allow_module_level=True)

from spotter.config import resolve
from spotter.rundir.run import Run
from spotter.training import checkpoint
from spotter.training.resume import resume
from spotter.training.run import train
from tests.faults.family import Family
from tests.faults.processes import SOAK

CHEAP = (
    *("CartPole-v1:ppo", "--quiet", "algo.epochs=2", "budget.env_steps=12288", "threads=1"),
    *("eval.every_steps=2048", "eval.episodes=4", "eval.stop_when_solved=false"),
    *("checkpoint.every_s=0.2", "video.when=end"),
)
GAMES = {
    "games in threads": (
        *("VizDoom/Basic:ppo", "env.backend=native", "env.count=4", "algo.steps=32"),
        *("algo.minibatch=64", "algo.epochs=1", "budget.env_steps=1024", "eval.episodes=2"),
    ),
    "games in workers": (
        *("VizDoom/Basic:ppo", "env.backend=process", "env.workers=2", "env.count=4"),
        *("algo.steps=32", "algo.minibatch=64", "algo.epochs=1", "budget.env_steps=1024"),
        *("eval.episodes=2", "eval.mode=async", "eval.every_steps=256"),
    ),
    "emulators": (
        *("Retro/Airstriker-Genesis:ppo", "env.backend=process", "env.workers=2", "env.count=4"),
        *("algo.steps=32", "algo.minibatch=64", "algo.epochs=1", "budget.env_steps=1024"),
        *("eval.episodes=1", "eval.every_steps=null"),
    ),
}
"""In processes of their own, by who starts them."""
BACKENDS = {
    "sync": ("env.backend=sync",),
    "batch": ("env.backend=batch",),
    "process, 2": ("env.backend=process", "env.workers=2"),
    "process, 4": ("env.backend=process", "env.workers=4"),
    "process, 8": ("env.backend=process", "env.workers=8"),
    "async": ("env.backend=sync", "eval.mode=async"),
    "overlap": ("env.backend=sync", "algo.overlap=true"),
    "all, 2": ("env.backend=process", "env.workers=2", "eval.mode=async", "algo.overlap=true"),
    "all, 4": ("env.backend=process", "env.workers=4", "eval.mode=async", "algo.overlap=true"),
}
REQUESTS = {"SIGTERM": "terminated", "SIGINT": "interrupted", "SIGHUP": "hangup"}
WAYS = ("group", "twice", "every")


def only_run(home: Path) -> Run | None:
    found = list(home.glob("*/run.json"))
    return Run(found[0].parent) if found else None


SCORES = ("eval/", "test/")


def rows(run: Run) -> list[dict]:
    """Without what depends on the clock, and scores: a stop may move these to the next row."""
    left_out = ("time/", "alerts", *SCORES)
    return [
        {key: value for key, value in row.items() if not key.startswith(left_out)}
        for row in run.metrics()
    ]


def scores(run: Run) -> list[dict]:
    """Every score in the rows, and every evaluation with its seeds and episodes."""
    found = [
        {key: value for key, value in row.items() if key.startswith(SCORES)}
        for row in run.metrics()
    ]
    keys = ("env_steps", "seeds", "env_seeds", "scores", "lengths")
    return [*filter(None, found), *({k: e[k] for k in keys if k in e} for e in run.evaluations())]


def has_rows(home: Path, count: int) -> bool:
    run = only_run(home)
    return run is not None and sum(1 for _ in run.metrics()) >= count


@pytest.fixture(autouse=True)
def nothing_goes_on():
    """Also where a test fails."""
    yield
    for family in Family.all:
        family.kill()
    Family.all.clear()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Runs that nothing has broken, by back-end, and how long they took."""
    found = {}

    def of(backend: str) -> tuple[Run, float]:
        if backend not in found:
            home = tmp_path_factory.mktemp("whole")
            began = time.monotonic()
            family = Family("train", *CHEAP, *BACKENDS[backend], home=home)
            assert family.end() == 0, family.output()
            found[backend] = only_run(home), time.monotonic() - began
            assert family.left_behind() == []
        return found[backend]

    return of


def check_stopped(family: Family, home: Path, name: str) -> Run | None:
    """What must hold after a signal at any moment; the run, if it was interrupted."""
    code = family.end()
    said = family.output()
    assert family.left_behind() == [], said
    assert "leaked" not in said
    number, run = getattr(signal, name), only_run(home)
    if run is None:
        # Python itself is still starting when it ends otherwise
        assert code in (128 + number, -number) or "Traceback" not in said, said
        return None
    assert "Traceback" not in said, said
    info = run.info()
    if info["status"] == "finished":  # the signal came while it was filmed, or later
        assert code in (0, 128 + number), said
        return None
    assert (info["status"], info["reason"], code) == ("interrupted", REQUESTS[name], 128 + number)
    return run


def check_resumed(run: Run, home: Path, expected: Run) -> None:
    """As if it had never been stopped."""
    family = Family("train", "--resume", run.id, "--quiet", home=home)
    code = family.end()
    assert code == 0, family.output()
    assert family.left_behind() == []
    check_same(run, expected)


def check_same(run: Run, expected: Run) -> None:
    assert rows(run) == rows(expected)
    assert scores(run) == scores(expected)
    a, b = (checkpoint.read(checkpoint.find_in(r, "@latest")).weights for r in (run, expected))
    assert all(torch.equal(a[key], b[key]) for key in a)


def test_timeout_saves_a_run_that_goes_on_as_if_it_had_not_been_stopped(tmp_path, monkeypatch):
    """GNU timeout sends SIGTERM to the process, then to its group; workers must not die first."""
    family = Family("train", *CHEAP, *BACKENDS["process, 4"], home=tmp_path)
    family.wait_for(lambda: has_rows(tmp_path, 2))
    family.signal(signal.SIGTERM, "twice")
    run = check_stopped(family, tmp_path, "SIGTERM")
    assert run is not None
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path))
    origin = resume(run.id)
    train(origin.config, (), lambda: origin.take_up([], ""), origin)
    settings = [word for word in CHEAP if "=" in word]
    config = resolve(CHEAP[0], [*settings, *BACKENDS["sync"]]).config
    whole = train(config, (), lambda: Run.create(config, "whole"))
    check_same(run, whole.run)


def test_a_closed_terminal_saves_and_a_kill_takes_every_process_along(tmp_path):
    """The terminal sends SIGHUP to everything that runs in it, and takes no more output."""
    words = [word for word in CHEAP if word != "--quiet"]
    settings = (*words, *BACKENDS["all, 2"], "budget.env_steps=1e7")
    family, terminal = Family.in_terminal("train", *settings, home=tmp_path)
    family.wait_for(lambda: family.drain(terminal) or has_rows(tmp_path, 2))
    family.members()
    os.close(terminal)
    run = check_stopped(family, tmp_path, "SIGHUP")
    before = len(rows(run))
    family = Family("train", "--resume", run.id, "--quiet", home=tmp_path)
    family.wait_for(lambda: has_rows(tmp_path, before + 5))
    assert len(family.members()) >= 5  # overlap, evaluation, 2 workers of each vector
    os.kill(family.main.pid, signal.SIGKILL)
    family.main.wait()
    assert family.left_behind(within_s=5.0) == []


@pytest.mark.parametrize("name", ["SIGINT", *(["SIGTERM", "SIGHUP"] if SOAK else [])])
def test_a_signal_while_workers_start_leaves_nothing(tmp_path, name):
    family = Family("train", *CHEAP, *BACKENDS["process, 4"], home=tmp_path)
    family.wait_for(lambda: sum("spawn_main" in words for words in family.members().values()) >= 2)
    family.signal(getattr(signal, name), "group")
    assert check_stopped(family, tmp_path, name) is None
    assert only_run(tmp_path) is None
    assert family.main.returncode == 128 + getattr(signal, name)


ENDLESS = """
import time
from pathlib import Path
import gymnasium as gym
import numpy as np

class Endless(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}
    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.random(1, np.float32), {}

    def step(self, action):
        return self.np_random.random(1, np.float32), 1.0, False, False, {}

    def render(self):
        Path("drawing").touch()
        while not Path("go").exists():
            time.sleep(0.01)
        return np.zeros((64, 64, 3), np.uint8)

gym.register("Endless-v0", Endless)
"""


def test_a_run_is_finished_before_it_is_filmed_and_ctrl_c_ends_the_film(tmp_path):
    (tmp_path / "endless.py").write_text(ENDLESS)
    short = ("budget.env_steps=256", "env.count=2", "algo.steps=64", "algo.minibatch=64")
    settings = (*short, "eval.episodes=1", "eval.every_steps=null", "env.backend=sync", "threads=1")
    family = Family("train", "endless:Endless-v0", "--algo", "ppo", "--quiet", *settings,
                    home=tmp_path / "runs", cwd=tmp_path)  # fmt: skip
    assert family.wait_for((tmp_path / "drawing").exists), family.output()
    run = only_run(tmp_path / "runs")
    assert run.info()["status"] == "finished"
    assert checkpoint.read(checkpoint.find_in(run, "@latest")).env_steps == 256
    family.signal(signal.SIGINT, "group")
    (tmp_path / "go").touch()  # only now is the first image drawn
    assert family.end() == 0, family.output()
    assert run.info()["status"] == "finished"
    assert not list(run.folder.glob("videos/*")), "half a film never stays"
    assert run.trainer() is None
    notes = [event["text"] for event in run.events() if event["event"] == "note"]
    assert "the video was not finished: asked to stop" in notes
    kinds = [event["event"] for event in run.events()]
    assert kinds[-2:] == ["end", "note"], "its files are complete before it is filmed"
    assert (run.folder / "report.html").exists()
    assert family.left_behind() == []


@pytest.mark.skipif(not SOAK, reason="half an hour; make soak")
@pytest.mark.parametrize(("backend", "moment"), list(product(BACKENDS, range(24))))
def test_any_signal_at_any_moment(tmp_path, whole, backend, moment):
    """From the start of the process to the end of its film."""
    expected, seconds = whole(backend)
    name, way = list(REQUESTS)[moment % 3], WAYS[moment // 3 % 3]
    family = Family("train", *CHEAP, *BACKENDS[backend], home=tmp_path)
    time.sleep(seconds * (moment + 0.5) / 24)
    family.signal(getattr(signal, name), way)
    run = check_stopped(family, tmp_path, name)
    if run is not None:
        check_resumed(run, tmp_path, expected)


def has_games(family: Family) -> bool:
    return any(
        "viz_instance_id" in words or "emulator" in words for words in family.members().values()
    )


@pytest.mark.skipif(not SOAK, reason="minutes; make soak")
@pytest.mark.parametrize(("kind", "name"), list(product(GAMES, [*REQUESTS, "SIGKILL"])))
def test_games_let_the_run_be_saved_and_end_with_it(tmp_path, kind, name):
    family = Family("train", *GAMES[kind], "--quiet", "video.when=null", "threads=1", home=tmp_path)
    family.wait_for(lambda: has_rows(tmp_path, 2) and has_games(family))
    if name == "SIGKILL":
        os.kill(family.main.pid, signal.SIGKILL)
        family.main.wait()
        assert family.left_behind(within_s=5.0) == []
        return
    family.signal(getattr(signal, name), "every")
    run = check_stopped(family, tmp_path, name)
    assert run is not None
    assert not [event for event in run.events() if event["event"] == "fault"]
    family = Family("train", "--resume", run.id, "--quiet", home=tmp_path)
    assert family.end() == 0, family.output()
    assert family.left_behind() == []


@pytest.mark.skipif(not SOAK, reason="minutes; make soak")
@pytest.mark.parametrize(("backend", "moment"), list(product(BACKENDS, range(5))))
def test_nothing_outlives_a_killed_process(tmp_path, whole, backend, moment):
    _, seconds = whole(backend)
    family = Family("train", *CHEAP, *BACKENDS[backend], home=tmp_path)
    time.sleep(seconds * (moment + 1) / 6)
    family.members()
    os.kill(family.main.pid, signal.SIGKILL)
    family.main.wait()
    assert family.left_behind(within_s=5.0) == []
