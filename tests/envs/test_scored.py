"""`spotter.make_env`: the environment of evaluation as a plain Gymnasium environment."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import spotter
from spotter.policy.actor_critic import Policy
from spotter.training.evaluate import Evaluator
from spotter.training.predict import TrainedPolicy
from spotter.types import UserError

QUICK = {"video": {"when": None}, "algo": {"name": "ppo", "steps": 16, "minibatch": 32}}
GAMES = [
    ("ALE/Pong-v5", "ale_py", {"time_limit": 12, "frame_skip": 4}),
    ("VizDoom/Basic", "vizdoom", {"time_limit": 12}),
    ("MinAtar/Breakout", "minatar", {}),
]


def needed(address: str) -> None:
    for game, package, _ in GAMES:
        if game == address:
            pytest.importorskip(package)


@pytest.mark.parametrize(
    "address",
    ["CartPole-v1", "Taxi-v4", "Bandit-v0", *(game for game, _, _ in GAMES)],
)
def test_gymnasium_checks_it(address, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    needed(address)
    env = spotter.make_env(address)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has wrappers
        check_env(env)
    env.close()


def test_its_spec_builds_it_again():
    env = spotter.make_env("CartPole-v1", env={"wrappers": [{"name": "frame_stack", "count": 3}]})
    again = gym.make(env.spec, render_mode="rgb_array")
    assert again.observation_space == env.observation_space
    again.reset(seed=1)
    assert again.render().shape == (400, 600, 3)


def test_render_modes(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    assert spotter.make_env("CartPole-v1").render_mode is None
    watched = spotter.make_env("CartPole-v1", render_mode="human")
    assert watched.render_mode == "human"
    watched.reset(seed=1)
    watched.step(0)
    watched.close()
    with pytest.raises(UserError, match="should be 'rgb_array', 'human' or None, got 'ansi'"):
        spotter.make_env("Taxi-v4", render_mode="ansi")


def test_an_environment_that_draws_nothing_says_so():
    assert spotter.make_env("tests.envs.spoken:Shifted-v0").metadata["render_modes"] == []
    with pytest.raises(UserError, match="renders no images: its render_mode is None"):
        spotter.make_env("tests.envs.spoken:shifted", render_mode="human")


def test_a_mask_that_the_policy_does_not_use_is_not_shown():
    for mask in (True, False):
        env = spotter.make_env("Taxi-v4", env={"mask": mask})
        _, start = env.reset(seed=1)
        *_, info = env.step(0)
        assert ("action_mask" in start) is ("action_mask" in info) is mask


def test_wrong_names_are_one_sentence():
    with pytest.raises(UserError, match="unknown recipe or environment 'CartPol-v1'; did you mean"):
        spotter.make_env("CartPol-v1")
    with pytest.raises(UserError, match="there is no run"):
        spotter.make_env("@last")


# --- the certificate -----------------------------------------------------------------------------


def played(env: gym.Env, policy, seed: int) -> float:
    obs, info = env.reset(seed=seed)
    score, done = 0.0, False
    while not done:
        action, _ = policy.predict(obs, mask=info.get("action_mask"))
        obs, reward, terminated, truncated, info = env.step(action)
        score, done = score + reward, terminated or truncated
    return score


@pytest.mark.parametrize(("address", "package", "env"), GAMES)
def test_a_loop_over_games_gives_the_score_of_the_certificate(address, package, env):
    pytest.importorskip(package)
    config = spotter.resolve(address, env=env, eval={"episodes": 3}).config
    with Evaluator(config) as evaluator:
        network = Policy(evaluator.spaces, config.policy)
        scored = evaluator.run(network, 0, "test")
    policy, same = TrainedPolicy(network, config.env), spotter.make_env(config)
    scores = [played(same, policy, seed) for seed in scored.env_seeds]
    same.close()
    assert scores == list(scored.scores)


def test_wrapped_rewards_and_observations():
    """A clipped reward is what the policy is trained with, and not what is scored."""
    wrappers = [
        {"name": "frame_stack", "count": 2},
        {"name": "gymnasium", "wrapper": "ClipReward",
         "kwargs": {"min_reward": -1.0, "max_reward": 0.0}},
    ]  # fmt: skip
    result = spotter.train(
        "Pendulum-v1",
        quiet=True,
        budget={"env_steps": 64},
        env={"count": 2, "wrappers": wrappers},
        eval={"episodes": 2},
        **QUICK,
    )
    assert min(result.test.scores) < -200
    for source in (result, result.run, result.run.id, f"{result.run.id}/@best", result.config):
        env = spotter.make_env(source)
        scores = [played(env, result.policy, seed) for seed in result.test.env_seeds]
        assert scores == pytest.approx(list(result.test.scores), rel=1e-12)
    assert env.observation_space.shape == np.shape(env.reset(seed=1)[0]) == (6,)
