"""`spotter train`: what it hands to training, and the verdict."""

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from spotter.cli.train import verdict
from spotter.envs.backends.slices import EnvError
from spotter.text.numbers import count, duration, number


@dataclass(frozen=True)
class Result:
    reason: str = "solved"
    score: float | None = 500.0
    episodes: int = 20
    threshold: float | None = 475.0
    solved: bool = True
    env_steps: int = 31_232
    seconds: float = 11.23
    run: None = None


@pytest.fixture
def trained(monkeypatch):
    """Replaces training; `trained.result` is what it returns, `trained.calls` what it got."""

    class Training:
        result = Result()
        calls: list = []  # noqa: RUF012

        @staticmethod
        def train(config, sinks=(), new_run=None, origin=None, written=(), notes=()):
            Training.calls.append((config, sinks))
            if isinstance(Training.result, BaseException):
                raise Training.result
            return Training.result

    Training.calls.clear()
    monkeypatch.setattr("spotter.sweeps.plan.train", Training.train)
    return Training


def test_the_verdict_is_one_line():
    assert verdict("CartPole-v1:ppo", Result()) == (
        "CartPole-v1:ppo solved: score 500.0 ≥ 475 over 20 held-out episodes, "
        "31,232 env steps, 11.2 s (stopped: solved)"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"solved": False, "score": 12.0, "reason": "budget"}, "not solved: score 12.0 < 475"),
        ({"solved": False, "score": 0.5, "threshold": 0.7}, "not solved: score 0.500 < 0.7"),
        ({"threshold": None, "solved": False}, "finished: score 500.0 over 20 held-out"),
        (
            {"score": None, "reason": "interrupted"},
            "interrupted after 31,232 env steps, 11.2 s, be",
        ),
        ({"seconds": 185}, "31,232 env steps, 3 min 05 s"),
    ],
)
def test_other_verdicts(changes, words):
    assert f"{words}" in verdict("X-v0:ppo", replace(Result(), **changes))


def test_train_resolves_and_reports(spotter, trained):
    ran = spotter("train", "CartPole-v1", "env.count=4", "--algo", "a2c", "--seed", "7")
    assert ran.code == 0
    assert ran.out.startswith("CartPole-v1:a2c solved: score 500.0")
    (config, sinks), *_ = trained.calls
    assert (config.algo.name, config.seed, config.env.count) == ("a2c", 7, 4)
    assert [type(sink).__name__ for sink in sinks] == ["Console"]


def test_quiet_has_no_sinks(spotter, trained):
    assert spotter("train", "CartPole-v1", "--quiet").code == 0
    assert trained.calls[0][1] == ()


def test_an_interrupted_training_is_130_with_a_sentence(spotter, trained):
    trained.result = Result(reason="interrupted", score=None, threshold=None, solved=False)
    ran = spotter("train", "CartPole-v1", "--quiet")
    assert ran.code == 130
    assert ran.out.startswith("CartPole-v1:ppo interrupted after 31,232 env steps")
    assert ran.err == ""


def test_a_failing_environment_is_1_and_tells_all(spotter, trained):
    trained.result = EnvError("environment 3 (seed 7) raised ValueError: no\nmore lines")
    ran = spotter("train", "CartPole-v1", "--quiet")
    assert ran.code == 1
    assert ran.err.startswith("spotter: environment 3 (seed 7) raised ValueError: no\nmore")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["Nope"], "unknown recipe or environment 'Nope'"),
        (["CartPole-v1", "--seed", "x"], "command line: seed should be a whole number, got 'x'"),
        (["CartPole-v1", "--seed", "-1"], "command line: seed should be at least 0, got -1"),
        (["CartPole-v1", "seed=1", "--seed", "2"], "the seed is given twice: write either"),
        (["CartPole-v1", "algo.lr"], "command line: 'algo.lr' is not an override; write key=v"),
        (["CartPole-v1", "--algo", "pp"], "unknown algorithm 'pp'; did you mean 'ppo'?"),
        (["CartPole-v1", "--from", "@last"], "there is no run in"),
        (["CartPole-v1", "--fresh-optimizer"], "--fresh-optimizer needs --from"),
        (["--resume", "@last"], "there is no run in"),
        (["--resume", "@last", "--algo", "ppo"], "--algo does not go with --resume"),
        (["--resume", "@last", "--no-save"], "--no-save does not go with --resume"),
        (["CartPole-v1", "--resume", "@last"], "--resume continues a run and takes no address"),
    ],
)
def test_mistakes_are_found_before_training(spotter, trained, args, sentence):
    ran = spotter("train", *args)
    assert ran.code == 2
    assert ran.err.startswith(f"spotter: {sentence}")
    assert trained.calls == []


def test_a_short_run_end_to_end(spotter):
    ran = spotter("train", "CartPole-v1:ppo", "budget.env_steps=512", "eval.episodes=2")
    assert ran.code == 0
    assert "CartPole-v1:ppo not solved: score" in ran.out
    assert "over 2 held-out episodes, 512 env steps" in ran.out


def test_an_environment_in_the_working_folder(folder):
    folder(
        "my_envs.py",
        """\
        import gymnasium as gym
        from gymnasium.envs.classic_control import CartPoleEnv

        gym.register("Mine-v0", entry_point=CartPoleEnv, max_episode_steps=20)
        """,
    )
    script = Path(sys.executable).parent / "spotter"
    args = [script, "config", "my_envs:Mine-v0", "--json"]
    done = subprocess.run(args, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert '"id": "my_envs:Mine-v0"' in done.stdout


def test_numbers_for_people():
    assert [count(7), count(1234567)] == ["7", "1,234,567"]
    assert [number(475.0), number(-13.25), number(0.7)] == ["475", "-13.25", "0.7"]
    assert [duration(0.04), duration(99.94), duration(100)] == ["0.0 s", "99.9 s", "1 min 40 s"]
    assert duration(7620) == "2 h 07 min"


def test_stop_go_on_fork_and_prove_end_to_end(spotter):
    short = ("budget.env_steps=512", "eval.episodes=2", "video.when=null", "--quiet")
    ran = spotter("train", "CartPole-v1:ppo", *short, "--why", "to see")
    assert ran.code == 0
    ran = spotter("train", "--resume", "@last", "--quiet")
    assert ran.code == 2
    assert (
        "has spent its budget of 512 env steps; to train on, add budget.env_steps=1024" in ran.err
    )
    ran = spotter("train", "--resume", "@last", "budget.env_steps=1024", "algo.lr=1e-4")
    assert ran.code == 0
    assert "resumes from 512 env steps" in ran.out
    assert "the budget of 512 env steps becomes 1,024 env steps" in ran.out
    ran = spotter("train", "CartPole-v1:ppo", *short[:-1], "--from", "@last/@latest")
    assert ran.code == 0
    assert "tensors copied" in ran.out
    assert "starts at a score of" in ran.out
    shown = spotter("show", "@last").out
    assert "step-000001024" in shown, "where it comes from"
    ran = spotter("train", "--resume", "@last", "budget.env_steps=2048", "--verify")
    first, *_, grade = ran.out.splitlines()
    assert ran.code == 0
    assert first == (
        "exact: 7 updates at once equal 3, kill -9 in the middle of episodes and 4 more"
    )
    assert grade.startswith("resume grade: exact (")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--seeds", "5-1"], "seeds are written like 1-5 or 1,4,9, not '5-1'"),
        (["--seeds", "1-2", "--seed", "3"], "--seeds says which seeds"),
        (["--seeds", "1-2", "seed=3"], "--seeds says which seeds"),
        (["--seeds", "1-2", "--no-save"], "--no-save does not go with --seeds"),
        (["--seeds", "1-2", "--verify"], "--verify does not go with --seeds"),
        (["--seeds", "1-2", "--jobs", "0"], "--jobs should be a whole number above 0, got '0'"),
        (["--seeds", "1-2", "--jobs", "x"], "--jobs should be a whole number above 0, got 'x'"),
        (["--jobs", "2"], "--jobs needs --seeds"),
        (["--group", "3"], "'3' cannot be the name of a group"),
    ],
)
def test_mistakes_about_groups_are_one_sentence(spotter, folder, words, sentence):
    ran = spotter("train", "CartPole-v1:ppo", *words)
    assert ran.code == 2
    assert sentence in ran.err and len(ran.err.strip().splitlines()) == 1


def test_resume_takes_no_seeds(spotter, folder):
    ran = spotter("train", "--resume", "@last", "--seeds", "1-2")
    assert ran.code == 2 and "--seeds does not go with --resume" in ran.err
