"""Intrinsic rewards: their advantage, what they learn from, and that runs with them are exact."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces as gs

from spotter import plugins
from spotter.config import resolve
from spotter.engines import functional as F
from spotter.explore.intrinsic import Intrinsic, _Samples
from spotter.explore.steps import Inputs
from spotter.rundir.run import Run
from spotter.training.run import train
from spotter.training.training import Training
from spotter.training.verify import verify
from spotter.types import Progress, UserError

NAMES = plugins.names("intrinsic")
START = Progress(0, 1000)


class Steps(gym.Env):
    """Shows the number of the step, and a hundred more in every other episode."""

    observation_space = gs.Box(-1, 500, (1,), np.float32)
    action_space = gs.Discrete(2)
    episode = -1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode += 1
        self.t = 100 * (self.episode % 2)
        return np.array([self.t], np.float32), {}

    def step(self, action):
        self.t += 1
        over = self.t % 100 == 3
        return np.array([self.t], np.float32), 0.0, over, False, {}


if "IntrinsicSteps-v0" not in gym.registry:
    gym.register("IntrinsicSteps-v0", Steps)


def collected(config):
    training = Training(config)
    gathered = training.source.next(training.policy, training.progress)
    return training, gathered.rollout


@pytest.mark.parametrize("backend", ["sync", "process"])
def test_a_step_knows_what_was_seen_after_it(make_config, backend):
    env = {"count": 2, "backend": backend}
    config = make_config(
        "tests.explore.test_intrinsic:IntrinsicSteps-v0", env=env,
        reward={"intrinsic": ["rnd"]}, policy={"normalize_obs": None},
    )  # fmt: skip
    training, rollout = collected(config)
    with training:
        samples = _Samples(rollout, Inputs({}))
        steps = samples.steps(torch.arange(len(samples)))
        now, after = (x["obs"].view(16, 2)[:, 0].tolist() for x in (steps.now, steps.after))
        assert now[:5] == [0, 1, 2, 100, 101]
        assert after == [*now[1:], float(rollout.after["obs"][0, 0])]
        assert after[-1] == 101.0, "also after the last step of the rollout"
        assert steps.goes_on.view(16, 2)[:5, 0].tolist() == [1, 1, 0, 1, 1]
        few = samples.steps(torch.tensor([31, 0, 17]))
        assert few.after["obs"].flatten().tolist() == [
            steps.after["obs"][i].item() for i in (31, 0, 17)
        ]


@pytest.mark.parametrize("name", NAMES)
def test_stacks_of_images_are_put_together(make_config, name):
    pytest.importorskip("ale_py")
    short = {"env.count": 2, "algo.steps": 8, "algo.minibatch": 8, "threads": 1}
    config = resolve("ALE/Pong-v5:rgb", {**short, "reward.intrinsic": [name]}).config
    training, rollout = collected(config)
    with training:
        samples = _Samples(rollout, Inputs({}))
        steps = samples.steps(torch.arange(16))
        (now,), (after,) = steps.now.values(), steps.after.values()
        assert torch.equal(after[:14], now[2:])
        assert torch.equal(after[14:, :-1], now[14:, 1:]), "one image further"
        assert all(np.isfinite(v) for v in training.explorer.learn(rollout, START).values())


@pytest.mark.parametrize("name", NAMES)
def test_what_is_seen_again_and_again_is_new_no_more(make_config, name):
    config = make_config("CartPole-v1", reward={"intrinsic": [name]})
    training, rollout = collected(config)
    with training:
        losses = [training.explorer.learn(rollout, START) for _ in range(150)]
        key = f"intrinsic/{name}/loss"
        assert losses[-1][key] < 0.4 * losses[0][key]


@pytest.mark.parametrize("episodic", [False, True])
def test_the_advantage_is_that_of_its_own_critic(make_config, monkeypatch, episodic):
    part = {"name": "rnd", "weight": 2.0, "gamma": 0.9, "lambda": 0.8, "episodic": episodic}
    config = make_config("CartPole-v1", reward={"intrinsic": [part]})
    training, rollout = collected(config)
    seen = {}
    looked_at = Intrinsic._looked_at

    def spy(self, *given):
        seen["found"] = looked_at(self, *given)
        return seen["found"]

    monkeypatch.setattr(Intrinsic, "_looked_at", spy)
    with training:
        training.explorer.learn(rollout, START)
        reward, value, after = seen["found"]
        assert rollout.episode_end.any() and (reward > 0).all()
        ends = rollout.episode_end if episodic else torch.zeros_like(rollout.episode_end)
        if episodic:  # a pole that fell has no future
            after = torch.where(rollout.terminated, 0.0, after)
        expected = 2.0 * F.gae(reward, value, after, ends, 0.9, 0.8)
        assert torch.allclose(rollout.bonus, expected)


@pytest.mark.parametrize("engine", ["auto", "torch"])
@pytest.mark.parametrize("algo", ["ppo", "a2c"])
def test_algorithms_learn_from_it_and_their_critic_does_not(make_config, algo, engine):
    def trained(bonus):
        settings = {"name": algo, "normalize_advantage": None if algo == "ppo" else False}
        config = make_config("CartPole-v1", settings, policy={"engine": engine, "shared": False})
        training, rollout = collected(config)
        with training:
            rollout.bonus = bonus(rollout)
            report = training.algorithm.update(rollout, START)
            actor = training.policy.actor.trunk[0].weight.detach().clone()
            return report, actor

    plain, actor = trained(lambda rollout: None)
    same, same_actor = trained(lambda rollout: torch.zeros_like(rollout.reward))
    more, other_actor = trained(lambda rollout: torch.ones_like(rollout.reward))
    assert same == plain and torch.equal(same_actor, actor)
    assert more["advantage/mean"] == pytest.approx(plain["advantage/mean"] + 1, abs=1e-4)
    assert not torch.equal(other_actor, actor)
    if algo == "a2c":  # of PPO's later epochs it follows from weights that differ
        assert more["loss/value"] == pytest.approx(plain["loss/value"], rel=1e-5)


def test_a_weight_of_nought_changes_no_weights(make_config):
    def weights(**reward):
        with Training(make_config("CartPole-v1", reward=reward)) as training:
            for _ in range(3):
                training.step()
            return training.policy.state_dict()

    plain = weights()
    other = weights(intrinsic=[{"name": "rnd", "weight": 0.0}])
    assert all(torch.equal(plain[name], other[name]) for name in plain)


def test_a_kill_and_a_resume_change_nothing(make_config):
    reward = {"intrinsic": [{"name": "rnd", "weight": {"start": 1.0, "end": 0.1}}, "prediction"]}
    algo = {"name": "ppo", "steps": 256}
    config = make_config("CartPole-v1", algo, reward=reward, budget={"env_steps": 30_000})
    proof = verify(config)
    assert proof.holds, proof.differences


def test_metrics_are_declared_and_tell_its_share(make_config):
    config = make_config("CartPole-v1", reward={"intrinsic": ["rnd"]}, budget={"env_steps": 128})
    run = train(config, new_run=lambda: Run.create(config, "x")).run
    row = list(run.metrics())[-1]
    assert 0 < row["intrinsic/rnd/share"] < 1 and row["hp/reward.rnd"] == 0.5
    assert "reward/rnd" not in row, "it is not in the reward that scores are compared with"


@pytest.mark.parametrize(
    ("address", "settings", "sentence"),
    [
        ("CartPole-v1:reinforce", {}, "reinforce does not learn from their advantage"),
        ("CartPole-v1:ppo", {"algo.overlap": True}, "does not work with algo.overlap"),
    ],
)
def test_what_cannot_carry_it_is_refused(address, settings, sentence):
    with pytest.raises(UserError, match=sentence):
        resolve(address, {**settings, "reward.intrinsic": ["rnd"]})


def test_names_are_distinct():
    with pytest.raises(UserError, match="two reward parts are called 'rnd'"):
        resolve("CartPole-v1:ppo", {"reward.intrinsic": ["rnd", {"name": "rnd"}]})


@pytest.mark.parametrize(
    "space", [gs.Discrete(3), gs.MultiDiscrete([2, 3]), gs.MultiBinary(3), gs.Box(-1, 1, (2,))]
)
def test_predictions_take_every_action_space(make_config, space):
    class Any(gym.Env):
        observation_space = gs.Dict(numbers=gs.Box(-1, 1, (2,)), place=gs.Discrete(4))
        action_space = space

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return {"numbers": np.zeros(2, np.float32), "place": 1}, {}

        def step(self, action):
            seen = {"numbers": self.np_random.random(2).astype(np.float32), "place": 2}
            return seen, 0.0, bool(self.np_random.random() < 0.1), False, {}

    gym.register("IntrinsicAny-v0", Any)
    try:
        config = make_config(
            "IntrinsicAny-v0", env={"backend": "sync"}, reward={"intrinsic": ["prediction", "rnd"]}
        )
        with Training(config) as training:
            assert np.isfinite(training.step().metrics["intrinsic/prediction/loss"])
    finally:
        del gym.registry["IntrinsicAny-v0"]
