"""The loop: determinism, budgets, stopping, schedules."""

import hashlib
import os
import signal
import subprocess
import sys

import pytest
import torch

from spotter.config import RunConfig
from spotter.sinks.base import Ending, Row, Start
from spotter.testing.algorithms import GRADIENT_METRICS
from spotter.training.run import train
from spotter.training.training import Training
from spotter.types import Evaluation

ALGOS = ["ppo", "a2c", "reinforce"]

FINGERPRINTS = """
import hashlib, sys
from spotter.config import resolve
from spotter.training import Training

def fingerprint(algo):
    config = resolve("CartPole-v1", ["env.backend=" + sys.argv[1],
                     "policy.normalize_obs=running", "reward.normalize=true"], algo=algo).config
    with Training(config) as training:
        for _ in range(5):
            training.step()
        state = training.policy.state_dict()
    data = b"".join(state[key].numpy().tobytes() for key in sorted(state))
    return hashlib.sha256(data).hexdigest()

if __name__ == "__main__":
    for algo in sys.argv[2:]:
        print(fingerprint(algo))
"""


def fingerprints_in_a_fresh_process(tmp_path, backend: str, *algos: str) -> list[str]:
    """Of one training after the other."""
    script = tmp_path / "fingerprints.py"
    script.write_text(FINGERPRINTS)
    done = subprocess.run(
        [sys.executable, str(script), backend, *algos], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_same_seed_gives_bit_identical_parameters_in_fresh_processes(tmp_path):
    first = fingerprints_in_a_fresh_process(tmp_path, "sync", *ALGOS, *ALGOS)
    assert len(set(first)) == len(ALGOS) and {len(one) for one in first} == {64}
    assert first[: len(ALGOS)] == first[len(ALGOS) :], "nor may what the process did before"
    second = fingerprints_in_a_fresh_process(tmp_path, "process", *reversed(ALGOS))
    assert first[: len(ALGOS)] == second[::-1], "neither process nor back-end may change a bit"


def parameters(config: RunConfig, updates: int = 3) -> str:
    with Training(config) as training:
        for _ in range(updates):
            training.step()
        state = training.policy.state_dict()
    return hashlib.sha256(b"".join(t.numpy().tobytes() for t in state.values())).hexdigest()


@pytest.mark.parametrize("algo", ALGOS)
def test_another_seed_gives_other_parameters(make_config, algo):
    assert parameters(make_config("CartPole-v1", algo)) != parameters(
        make_config("CartPole-v1", algo, seed=2)
    )


class Log:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.evaluations: list[Evaluation] = []
        self.notes: list[str] = []
        self.events: list[tuple[str, dict]] = []
        self.closed = False

    def open(self, start: Start) -> None:
        self.start = start

    def note(self, text: str) -> None:
        self.notes.append(text)

    def row(self, row: Row) -> None:
        self.rows.append(row)

    def evaluation(self, evaluation: Evaluation) -> None:
        self.evaluations.append(evaluation)

    def event(self, kind, data) -> None:
        self.events.append((kind, data))

    def close(self, ending: Ending | None) -> None:
        self.closed = True
        self.ending = ending


def test_budget_counts_env_steps_and_both_axes_are_kept(make_config):
    log = Log()
    result = train(make_config("CartPole-v1", budget={"env_steps": 200}), [log])
    assert [row.env_steps for row in log.rows] == [64, 128, 192, 256]
    assert [row.vector_steps for row in log.rows] == [16, 32, 48, 64]
    assert result.reason == "budget"
    assert result.env_steps == 256
    assert log.closed


def test_every_algorithm_reports_the_shared_diagnostics(make_config):
    shared = {
        *GRADIENT_METRICS,
        "grad/actor_trunk",
        "grad/policy_head",
        "hp/algo.lr",
        "time/fps",
        "train/score",
        "train/reward",
        "reward/env",
    }
    for algo in ALGOS:
        log = Log()
        train(make_config("CartPole-v1", algo, budget={"env_steps": 600}), [log])
        assert shared <= set(log.rows[-1].metrics), algo
        assert all(value == value for row in log.rows for value in row.metrics.values()), "NaN"


def test_scheduled_settings_are_logged_as_they_change(make_config):
    lr = {"shape": "linear", "start": 1.0e-3, "end": 0.0}
    log = Log()
    train(
        make_config(
            "CartPole-v1",
            algo={"name": "ppo", "lr": lr, "epochs": 1, "steps": 16},
            budget={"env_steps": 128},
        ),
        [log],
    )
    assert [row.metrics["hp/algo.lr"] for row in log.rows] == pytest.approx([1e-3, 5e-4])


def test_training_ends_at_once_when_solved_on_two_seed_sets(make_config):
    log = Log()
    config = make_config(
        "CartPole-v1",
        env={"threshold": 5.0},
        eval={"every_steps": 64},
        budget={"env_steps": 100_000},
    )
    result = train(config, [log])
    assert result.reason == "solved"
    assert result.solved
    assert len(log.rows) == 1
    assert [evaluation.seeds for evaluation in log.evaluations] == ["eval", "test"]
    assert result.test is log.evaluations[-1]


def test_interrupt_ends_cleanly_with_the_policy(make_config):
    class Impatient(Log):
        def row(self, row: Row) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    sink = Impatient()
    result = train(make_config("CartPole-v1"), [sink])
    assert result.reason == "interrupted"
    assert result.score is None
    assert result.env_steps == 64
    assert sink.closed
    assert result.policy.network.act({"obs": torch.zeros(1, 4)}).action.shape == (1,)


def test_environments_whose_copies_are_alike_are_pointed_out(make_config):
    log = Log()
    train(make_config("CliffWalking-v1", env={"time_limit": 20}, budget={"env_steps": 32}), [log])
    assert any("behaves the same under every seed" in note for note in log.notes)


def test_p16_score_stays_raw_while_the_learner_is_paid_clipped(make_config):
    log = Log()
    config = make_config(
        "CartPole-v1", reward={"weight": 7.0, "clip": 1.0, "scale": 0.1}, budget={"env_steps": 400}
    )
    train(config, [log])
    metrics = log.rows[-1].metrics
    assert metrics["train/score"] == pytest.approx(metrics["train/length"])
    assert metrics["train/reward"] == pytest.approx(7 * metrics["train/length"])


def test_undeclared_metrics_stop_the_run(make_config, monkeypatch):
    from spotter.algos.ppo import PPO

    original = PPO.update
    monkeypatch.setattr(PPO, "update", lambda *a: original(*a) | {"made/up": 1.0})
    with pytest.raises(AssertionError, match="made/up is not declared"):
        train(make_config("CartPole-v1"), [Log()])
