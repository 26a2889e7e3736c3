"""What cannot fit or end is refused in one sentence, before anything is allocated."""

import math

import pytest

from spotter.config import recipes, resolve
from spotter.training import estimate
from spotter.training.evaluate import Evaluator
from spotter.training.training import Training
from spotter.types import UserError

MEMORY = 16_000_000_000


@pytest.fixture(autouse=True)
def sixteen_gigabytes(monkeypatch):
    monkeypatch.setattr("spotter.system.machine.memory_bytes", lambda: MEMORY)


HUGE = {
    "algo.steps=1e12": "a rollout of env.count × algo.steps = 8 × 1,000,000,000,000 samples needs "
    "at least 152 TB of memory, and there are 16 GB; lower algo.steps to 100,000,000 or less",
    "env.count=1e8": "env.count=100,000,000 needs at least 300 GB of memory, and there are 16 GB; "
    "lower env.count to 5,300,000 or less",
    "policy.hidden=[100000000]": "policy.hidden=[100000000], a network of 1,300,000,003 "
    "parameters, needs at least 20.8 GB of memory, and there are 16 GB; lower its widths",
    "policy.hidden=[9000000000000, 9000000000000]": "has more weights than can be counted",
    "policy.hidden=[10000000]": "a minibatch of 256 samples through policy.hidden=[10000000] needs",
    "algo.epochs=1e9": "1,000,000,000 passes over a rollout in 1 parts in one update take at least "
    "14 hours, and a run can be shown, saved and stopped only between updates; lower algo.epochs "
    "to 72,000,000 or less",
    "algo.epochs={start: 1, end: 1e9}": "lower algo.epochs to 72,000,000 or less",
    "eval.episodes=1e12": "eval.episodes=1,000,000,000,000 needs at least 400 TB of memory",
}  # fmt: skip


@pytest.mark.parametrize("override", HUGE)
def test_huge_values_are_refused(override, monkeypatch):
    config = resolve("CartPole-v1:ppo", [override]).config
    if "policy" not in override:
        monkeypatch.setattr("spotter.training.training.make_vector", None)  # not even called
    monkeypatch.setattr("spotter.training.training.Policy", None)
    with pytest.raises(UserError) as raised:
        Training(config)
    assert HUGE[override] in str(raised.value)


def test_an_evaluation_by_env_steps_may_be_that_many_episodes():
    changes = ["eval.episodes=auto", "eval.env_steps=1e12"]
    with pytest.raises(UserError, match=r"lower eval.env_steps to 40,000,000 or less"):
        estimate.check_envs(resolve("CartPole-v1:ppo", changes).config, "batch")


def test_workers_are_counted():
    changes = ["env.backend=process", "env.count=10000", "env.workers=10000"]
    config = resolve("CartPole-v1:ppo", changes).config
    with pytest.raises(UserError, match=r"lower env.workers to 400 or less"):
        estimate.check_envs(config, "process")


@pytest.mark.parametrize(
    ("address", "override", "setting"),
    [
        ("CartPole-v1:a2c", "algo.steps=1e9", "algo.steps"),
        ("CartPole-v1:reinforce", "algo.episodes=1e12", "algo.episodes"),
    ],
)
def test_every_algorithm_has_an_estimate(address, override, setting):
    config = resolve(address, [override]).config
    with pytest.raises(UserError, match=f"lower {setting} to "):
        estimate.check_envs(config, "batch")


def test_slow_updates_are_refused_where_memory_is_unknown(monkeypatch):
    monkeypatch.setattr("spotter.system.machine.memory_bytes", lambda: None)
    config = resolve("CartPole-v1:ppo", ["algo.steps=1e12"]).config
    with pytest.raises(UserError, match=r"lower algo.steps or env.count"):
        estimate.check_envs(config, "batch")


def test_an_evaluation_counts_its_episodes(make_config):
    with pytest.raises(UserError, match=r"lower eval.episodes to 40,000,000 or less"):
        Evaluator(make_config("CartPole-v1", eval={"episodes": 10**9}))


def test_no_packaged_recipe_is_refused(monkeypatch):
    """Not even on a small machine."""
    monkeypatch.setattr("spotter.system.machine.memory_bytes", lambda: 4_000_000_000)
    for name, path in recipes.files().items():
        for variant in recipes.variants(recipes.open_source(path)):
            estimate.check_envs(resolve(f"{name}:{variant}").config, "process")


@pytest.mark.parametrize(
    ("size", "words"), [(999, "999 bytes"), (23_512_000_000, "23.5 GB"), (4e23, "400,000 EB")]
)
def test_sizes(size, words):
    assert estimate._size(size) == words


@pytest.mark.parametrize(("value", "down"), [(7.9, 7), (5_333_333, 5_300_000), (math.inf, 10**15)])
def test_rounding_down(value, down):
    assert estimate._down(value) == down
