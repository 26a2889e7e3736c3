"""`hp/*` is what an update was made with: learning rates, scheduled settings, reward weights."""

import pytest

from spotter.config import changed
from spotter.engines.optim import Optimizer
from spotter.rundir.run import Run
from spotter.training.resume import resume
from spotter.training.run import train
from spotter.training.training import Training
from spotter.types import Progress

FALLING = {"start": 1e-3, "end": 0.0}
ALGOS = {
    "ppo": {"name": "ppo", "steps": 16, "epochs": {"start": 4, "end": 1}},
    "a2c": {"name": "a2c", "steps": 16},
    "reinforce": {"name": "reinforce"},
}


@pytest.fixture
def steps(monkeypatch):
    """Every gradient step: the rates and the limit that were in force."""
    made = []
    apply = Optimizer.apply_numpy

    def spy(self, progress):
        limit = self.config.max_grad_norm.at(progress)
        made.append((*self.rates, limit, progress.env_steps))
        return apply(self, progress)

    monkeypatch.setattr(Optimizer, "apply_numpy", spy)
    return made


@pytest.mark.parametrize("engine", ["auto", "torch"])
@pytest.mark.parametrize("algo", ALGOS)
def test_logged_is_used(make_config, steps, algo, engine):
    """Also with a rate of its own for the critic, and whatever else follows a schedule."""
    settings = ALGOS[algo] | {"lr": FALLING, "critic_lr": {"start": 2e-3, "end": 0.0}}
    settings["max_grad_norm"] = {"start": 1.0, "end": 0.1}
    config = make_config("CartPole-v1", settings, policy={"engine": engine})
    with Training(config) as training:
        while training.env_steps < 1000:
            at = training.progress
            row = training.step().metrics
            (used,) = set(steps)
            steps.clear()
            logged = [row[f"hp/algo.{name}"] for name in ("lr", "critic_lr", "max_grad_norm")]
            assert (*logged, at.env_steps) == used
            for name in ("gamma", "entropy"):
                assert row[f"hp/algo.{name}"] == getattr(config.algo, name).at(at)


def test_the_first_row_has_the_first_rate(make_config):
    config = make_config("CartPole-v1", ALGOS["ppo"] | {"lr": FALLING}, budget={"env_steps": 256})
    run = train(config, new_run=lambda: Run.create(config, "x")).run
    rates = [row["hp/algo.lr"] for row in run.metrics()]
    assert rates == pytest.approx([1e-3, 7.5e-4, 5e-4, 2.5e-4])


def test_passes_are_logged_as_they_were_made(make_config):
    with Training(make_config("CartPole-v1", ALGOS["ppo"], budget={"env_steps": 640})) as training:
        rows = [training.step().metrics for _ in range(10)]
    assert [row["hp/algo.epochs"] for row in rows] == [row["ppo/epochs"] for row in rows]
    assert {row["hp/algo.epochs"] for row in rows} == {4.0, 3.0, 2.0, 1.0}


def test_the_factor_of_a_steered_rate_is_in_it(make_config, steps):
    algo = ALGOS["ppo"] | {"lr": FALLING, "lr_target_kl": 1e-5}
    with Training(make_config("CartPole-v1", algo)) as training:
        factors = []
        for _ in range(8):
            row = training.step().metrics
            assert row["hp/algo.lr"] == steps[-1][0]
            scheduled = config_rate(training, steps[-1][-1])
            assert row["hp/algo.lr"] == pytest.approx(scheduled * row["ppo/lr_factor"])
            factors.append(row["ppo/lr_factor"])
    assert factors[0] == 1.0, "nothing was known yet"
    assert factors[-1] < 0.1


def config_rate(training, env_steps):
    return training.config.algo.lr.at(Progress(env_steps, training.config.budget.env_steps))


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_rollouts_collected_ahead(make_config, steps, engine):
    """The rate is of the update, the weights of rewards are those of the rollout."""
    config = make_config(
        "CartPole-v1",
        {"name": "ppo", "steps": 16, "overlap": True, "lr": FALLING},
        policy={"engine": engine},
        reward={"weight": {"start": 1.0, "end": 0.0}},
    )
    with Training(config) as training:
        for number in range(6):
            if number == 3:
                config = changed(config, ["algo.lr=1e-5", "reward.weight=7"])
                training.retune(config)
            row = training.step().metrics
            assert row["hp/algo.lr"] == steps[-1][0]
            paid = float(training.last.reward.max())
            assert row["hp/reward.weight"] == pytest.approx(paid)
    assert row["hp/algo.lr"] == 1e-5
    assert row["hp/reward.weight"] == 7.0


def test_after_a_resume_and_a_change(make_config, steps):
    plateau = {
        "patience_steps": 128,
        "min_delta": 1e6,
        "actions": [{"setting": "algo.lr", "value": 0.5}],
    }
    algo = ALGOS["ppo"] | {"lr": FALLING, "lr_target_kl": 1e-5}
    config = make_config("CartPole-v1", algo, plateau=plateau, budget={"env_steps": 2000})
    short = changed(config, ["budget.env_steps=640"])
    run = train(short, new_run=lambda: Run.create(short, "x")).run
    origin = resume(run.id, ["budget.env_steps=2000"])
    train(origin.config, new_run=lambda: run, origin=origin)
    rows = list(run.metrics())
    used = {env_steps: rate for rate, *_, env_steps in steps}
    before = [0, *(row["env_steps"] for row in rows)]
    assert len(rows) == 32
    for at, row in zip(before, rows, strict=False):
        assert row["hp/algo.lr"] == used[at]
