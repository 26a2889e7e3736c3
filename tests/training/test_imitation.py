"""Behaviour cloning of a demonstration before the first update."""

import numpy as np
import pytest
import torch

from spotter.config import BudgetConfig, EnvConfig
from spotter.config.demo import DemoConfig
from spotter.training.imitation import imitate, recorded
from spotter.training.run import train
from spotter.training.training import Training
from spotter.training.verify import verify
from spotter.types import UserError
from tests.envs import chain
from tests.envs.chain import LENGTH, WAY

PPO = {"name": "ppo", "steps": 16, "minibatch": 0.5}


@pytest.fixture
def make(make_config):
    def make(clone=30, policy=None, wrappers=(), **env):
        given = {"demo": chain.demo(clone=clone), "count": 4, "wrappers": list(wrappers), **env}
        return make_config(
            chain.ID,
            PPO,
            env=given,
            policy={"hidden": [32], **(policy or {})},
            budget={"env_steps": 64},
        )

    return make


def way_of(policy):
    leaf = policy.spaces.observation["obs"]
    obs = {"obs": torch.arange(LENGTH).reshape(LENGTH, *leaf.shape)}
    return policy.act(obs, deterministic=True).action.ravel().tolist()


def test_a_policy_takes_the_actions_of_the_demonstration(make):
    with Training(make()) as training:
        before = training.algorithm.optimizer.state()["steps"]
        assert way_of(training.policy) != WAY
        assert imitate(training).startswith("imitated 630 actions in 30 passes")
        assert way_of(training.policy) == WAY
        assert training.algorithm.optimizer.state()["steps"] == before == 0
        training.step()


def test_it_is_the_same_every_time(make):
    def weights():
        with Training(make()) as training:
            imitate(training)
            return [x.numpy().copy() for x in training.policy.state_dict().values()]

    assert all(np.array_equal(a, b) for a, b in zip(weights(), weights(), strict=True))


def test_a_run_begins_with_it(make):
    result = train(make())
    assert result.score == 10.0, "which PPO does not learn in 64 steps"


def test_without_passes_nothing_is_imitated(make):
    with Training(make(clone=0)) as training:
        assert imitate(training) == ""


def test_games_with_chance_are_imitated_where_they_succeed():
    demo = DemoConfig(**chain.demo())
    env = EnvConfig(id=chain.ID, kwargs={"slip": 0.02}, demo=demo)
    samples, games = recorded(env, demo, [*range(20)])
    assert 0 < games < 20
    assert samples.action.tolist() == WAY * (1 + games)
    assert samples.obs["obs"].ravel().tolist() == [*range(LENGTH)] * (1 + games)


def test_wrappers_that_change_what_actions_do_are_refused():
    turned = {"name": "action_map", "mapping": [3, 2, 1, 0]}
    env = {"id": chain.ID, "wrappers": [turned], "demo": chain.demo()}
    with pytest.raises(UserError, match=r"through env\.wrappers the demonstration scores 0"):
        recorded(EnvConfig.from_data(env), DemoConfig(**chain.demo()), [])


def test_a_core_is_not_taught_by_single_steps(make):
    with pytest.raises(UserError, match=r"env\.demo\.clone imitates single steps"):
        make(policy={"core": {"name": "gru", "size": 8}})


def test_a_killed_run_resumes_exactly(make):
    config = make(clone=2).model_copy(update={"budget": BudgetConfig(env_steps=20_000)})
    proof = verify(config)
    assert proof.holds, proof.lines()
