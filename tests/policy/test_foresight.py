"""Predictions beside the policy: their losses, what they train, and that runs are exact."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces as gs

from spotter.config import resolve
from spotter.engines.learner import TorchLearner
from spotter.policy.foresight import Steps
from spotter.training.training import Training
from spotter.training.verify import verify
from spotter.types import Progress, UserError

BOTH = {"predict_obs": 0.5, "predict_reward": 0.25}
ENVS = {
    "numbers": "CartPole-v1",
    "amounts": "Pendulum-v1",
    "a state": "CliffWalking-v1",
    "leaves": "tests.policy.test_foresight:Mixed-v0",
}


class Mixed(gym.Env):
    """A vector, a picture and a choice; what is done decides what is seen and paid."""

    observation_space = gs.Dict(
        {
            "place": gs.Box(-9, 9, (2,), np.float32),
            "look": gs.Box(0, 255, (3, 36, 36), np.uint8),
            "door": gs.Discrete(3),
        }
    )
    action_space = gs.MultiDiscrete([3, 2])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.place = 0, np.zeros(2, np.float32)
        return self._seen(0), {}

    def step(self, action):
        self.t += 1
        self.place = np.clip(self.place + np.array([action[0] - 1, action[1]]), -9, 9).astype(
            np.float32
        )
        return self._seen(int(action[0])), float(action[1]), self.t == 7, False, {}

    def _seen(self, door):
        look = np.full((3, 36, 36), 80 * door, np.uint8)
        return {"place": self.place, "look": look, "door": door}


if "Mixed-v0" not in gym.registry:
    gym.register("Mixed-v0", Mixed)


def learning(make_config, env_id, algo=None, **policy):
    algo = {"name": "ppo", "steps": 16, "minibatch": 16, **(algo or {})}
    env = {"count": 4, "family": "toy_text"} if env_id == "CliffWalking-v1" else {"count": 4}
    return Training(make_config(env_id, algo, env=env, policy={**BOTH, **policy}))


@pytest.mark.parametrize("env_id", ENVS.values(), ids=ENVS)
@pytest.mark.parametrize("shared", [True, False])
def test_the_gradient_is_that_of_all_losses_together(make_config, env_id, shared):
    with learning(make_config, env_id, shared=shared) as training:
        gathered = training.source.next(training.policy, training.progress)
        rollout, algorithm = gathered.rollout, training.algorithm
        learner = algorithm.learner
        assert isinstance(learner, TorchLearner)
        batch = rollout.flatten(rollout.value, rollout.value)
        samples = learner.prepare(batch)
        some = learner.select(samples, torch.tensor([63, 5, 0, 17, 62]))
        now = {"clip": 0.2, "value_weight": 0.5, "entropy": 0.0}
        _, slopes = algorithm.objective(learner.evaluate(some), some, now)
        learner.differentiate(slopes, Progress(0, 1))
        together = algorithm.optimizer.gradient.clone()
        learner.evaluate(some)
        learner.differentiate(slopes)
        alone = algorithm.optimizer.gradient.clone()

        policy, then = training.policy, some.outlook
        steps = Steps(some.obs, some.action, then.obs(), then.reward, then.goes_on)
        features = [body(policy.inputs(some.obs)) for body in policy.bodies()]
        of_next, of_reward = policy.foresight.loss(features, steps)
        algorithm.optimizer.differentiate(0.5 * of_next + 0.25 * of_reward)
        torch.testing.assert_close(together, alone + algorithm.optimizer.gradient)
        trunk = algorithm.optimizer.gradient_of(next(policy.actor.trunk.parameters()))
        assert trunk.any(), "what predicts is the trunk that the policy stands on"


def test_what_comes_next_is_taken_from_the_same_env(make_config):
    with learning(make_config, ENVS["leaves"]) as training:
        rollout = training.source.next(training.policy, training.progress).rollout
        then = rollout.flatten(rollout.value, rollout.value).outlook
        place = rollout.obs["place"]
        after = then.obs()["place"].view(16, 4, 2)
        assert torch.equal(after[:-1], place[1:])
        assert torch.equal(after[-1], rollout.after["place"])
        assert torch.equal(then.goes_on.view(16, 4).bool(), ~rollout.episode_end)
        moved = (after - place)[..., 1]
        inside = then.goes_on.view(16, 4).bool()
        assert torch.equal(moved[inside], rollout.action[..., 1].float()[inside])
        rollout.valid[3], rollout.whole = False, False
        fewer = rollout.flatten(rollout.value, rollout.value).outlook
        kept = torch.arange(64).view(16, 4)[[0, 1, 2, *range(4, 16)]].flatten()
        assert torch.equal(fewer.rows, kept)
        assert torch.equal(fewer.obs()["place"], then.obs()["place"][kept])


def test_stacks_of_images_are_put_together():
    pytest.importorskip("ale_py")
    short = {"env.count": 2, "algo.steps": 8, "algo.minibatch": 8, "threads": 1}
    config = resolve("ALE/Pong-v5:rgb", {**short, "policy.predict_obs": 0.5}).config
    with Training(config) as training:
        rollout = training.source.next(training.policy, training.progress).rollout
        batch = rollout.flatten(rollout.value, rollout.value)
        [(path, leaf)] = batch.obs.items()
        shown, after = (x.view(8, 2, 4, 84, 84) for x in (leaf[:], batch.outlook.obs()[path]))
        assert torch.equal(after[:-1], shown[1:])
        assert torch.equal(after[-1], rollout.after[path])
        assert 0 < training.step().metrics["loss/predict_obs"] < 10


@pytest.mark.parametrize("env_id", ENVS.values(), ids=ENVS)
@pytest.mark.parametrize("algo", ["ppo", "a2c", "reinforce"])
def test_it_learns_to_predict(make_config, env_id, algo):
    own = {"name": algo, "lr": 3e-3, **({"episodes": 1} if algo == "reinforce" else {"steps": 32})}
    env = {"count": 4, "time_limit": 50}
    env |= {"family": "toy_text"} if env_id == "CliffWalking-v1" else {}
    with Training(make_config(env_id, own, env=env, policy=BOTH)) as training:
        look = training.policy.foresight.look or torch.nn.Module()
        fixed = [x.clone() for x in look.parameters()]
        losses = [training.step().metrics["loss/predict_obs"] for _ in range(80)]
        assert np.mean(losses[-8:]) < 0.6, "of a variance of 1"
        for before, now in zip(fixed, look.parameters(), strict=True):
            assert torch.equal(before, now), "what is predicted stands still"


@pytest.mark.parametrize("core", [None, "gru"])
def test_a_resumed_run_is_the_one_that_was_stopped(core):
    small = {"budget.env_steps": 2048, "algo.steps": 32, "algo.minibatch": 32, "threads": 1,
             "policy.predict_obs": {"shape": "linear", "start": 1, "end": 0},
             "policy.predict_reward": 0.5, "policy.core": core}  # fmt: skip
    config = resolve("CartPole-v1:ppo", small).config
    proof = verify(config)
    assert proof.holds, proof.differences


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"policy.engine": "numpy"}, "whose gradients only torch computes; use torch or auto"),
        ({"algo.overlap": True}, "do not work with algo.overlap; leave one out"),
    ],
)
def test_what_cannot_carry_it_says_so(settings, sentence):
    with pytest.raises(UserError, match=sentence):
        resolve("CartPole-v1:ppo", {"policy.predict_obs": 0.5, **settings})


def test_its_weight_follows_a_schedule(make_config):
    falling = {"shape": "linear", "start": 1, "end": 0}
    config = make_config("CartPole-v1", {"name": "ppo", "steps": 16, "minibatch": 16},
                         policy={"predict_obs": falling}, budget={"env_steps": 640})  # fmt: skip
    with Training(config) as training:
        weights = [training.step().metrics["hp/policy.predict_obs"] for _ in range(3)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == 1.0 > weights[-1]
