"""The last action and reward beside the observation: training, evaluation, predict and resume."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces as gs

import spotter
from spotter.config import resolve
from spotter.envs import previous
from spotter.envs.backends.batch import catalogue
from spotter.envs.fingerprint import fingerprint
from spotter.envs.make import EnvBuilder, choose_backend, make_vector
from spotter.episodes.capture import capture
from spotter.training.evaluate import Evaluator
from spotter.training.run import train
from spotter.types import UserError
from tests.episodes.making import saved

BOTH = {"previous_action": True, "previous_reward": True}
SPACES = {
    "discrete": (gs.Discrete(3, start=5), 6, 0, 2),
    "several": (gs.MultiDiscrete([2, 3]), [1, 2], [0, 0], [2, 3]),
    "binary": (gs.MultiBinary(3), [1, 0, 1], [0, 0, 0], [1, 0, 1]),
    "box": (gs.Box(1, 3, (2,), np.float32), [1.5, 3], [0, 0], [1.5, 3]),
}


@pytest.mark.parametrize("kind", SPACES)
def test_no_action_is_a_value_of_its_own(kind):
    space, action, none, shown = SPACES[kind]
    seen = previous.Previous(space, action=True, reward=True)
    whole = gs.Dict(seen.spaces)
    first, after = seen.at_start(), seen.after(np.asarray(action, space.dtype), 2.5)
    assert first["previous_action"].tolist() == none and first["previous_reward"].tolist() == [0]
    assert after["previous_action"].tolist() == shown and after["previous_reward"].tolist() == [2.5]
    assert whole.contains(first) and whole.contains(after)
    together = seen.after(np.stack([np.asarray(action, space.dtype)] * 2), np.array([2.5, 1.0]))
    assert together["previous_action"].tolist() == [shown, shown]
    assert together["previous_reward"].tolist() == [[2.5], [1.0]]


def test_what_an_environment_shows_with_it(make_config):
    config = make_config("Pendulum-v1", env={**BOTH, "time_limit": 3}).env
    env = EnvBuilder(config).build().env
    obs, _ = env.reset(seed=1)
    assert list(obs) == ["obs", "previous_action", "previous_reward"]
    for step in range(3):
        obs, reward, _, truncated, _ = env.step(np.array([0.5], np.float32))
        assert obs["previous_action"] == 0.5 and obs["previous_reward"][0] == np.float32(reward)
        assert env.observation_space.contains(obs), step
    assert truncated and not env.reset()[0]["previous_action"].any(), "nothing of the last episode"


def test_the_last_observation_of_an_episode_has_them_and_the_next_first_has_not(make_config):
    config = make_config("CartPole-v1", env={**BOTH, "time_limit": 2})
    with make_vector(config.env, config.reward, count=2) as vector:
        vector.reset([1, 2])
        vector.step(np.array([0, 1]))
        assert vector.buffers.obs["previous_action"].tolist() == [1, 2]
        vector.step(np.array([1, 1]))
        assert vector.buffers.truncated.all()
        assert vector.buffers.final_obs["previous_action"].tolist() == [2, 2]
        assert vector.buffers.final_obs["previous_reward"].tolist() == [[1], [1]]
        assert vector.buffers.obs["previous_action"].tolist() == [0, 0]
        assert vector.buffers.obs["previous_reward"].tolist() == [[0], [0]]


def test_it_is_part_of_the_game_and_nothing_where_it_is_off(make_config):
    plain, with_both = make_config("CartPole-v1"), make_config("CartPole-v1", env=BOTH)
    assert fingerprint(plain.env, plain.reward) != fingerprint(with_both.env, with_both.reward)
    assert catalogue.reason_against(plain.env, None) == ""
    assert "env.previous_action works on one env" in catalogue.reason_against(with_both.env, None)
    assert choose_backend(with_both.env, with_both.reward).name == "sync"


def test_backends_that_cannot_are_refused_and_names_are_not_taken_twice(make_config):
    config = make_config("CartPole-v1", env={**BOTH, "backend": "batch"})
    with pytest.raises(UserError, match=r"env.previous_action works on one env at a time"):
        make_vector(config.env, config.reward)

    class Own(gym.Env):
        observation_space = gs.Dict(previous_reward=gs.Discrete(2))
        action_space = gs.Discrete(2)

    with pytest.raises(UserError, match=r"the observation has a previous_reward already"):
        previous.WithPrevious(Own(), previous.Previous(gs.Discrete(2), True, True))


@pytest.fixture(params=[None, "gru"])
def run(request, make_config):
    env = {**BOTH, "id": "CartPole-v1", "time_limit": 30}
    policy = {"core": request.param, "policy_gain": 1.0}
    return saved(make_config("CartPole-v1", env=env, policy=policy), updates=2)


def test_predict_sees_what_evaluation_saw(run):
    """In a plain environment, one by one and in a batch, and in `spotter.make_env`."""
    policy = spotter.load(run.id)
    with Evaluator(run.config()) as evaluator:
        scored = evaluator.run(policy.network, 0, episodes=3)
    for seed, score in zip(scored.env_seeds, scored.scores, strict=True):
        env = gym.make("CartPole-v1", max_episode_steps=30)
        whole = spotter.make_env(run.id)
        (obs, _), (all_seen, _) = env.reset(seed=seed), whole.reset(seed=seed)
        state, own, reward, total, done = None, None, None, 0.0, False
        while not done:
            action, state = policy.predict(obs, state, reward=reward)
            same, own = policy.predict(all_seen, own)
            assert action == same
            all_seen, *_ = whole.step(action)
            obs, reward, terminated, truncated, _ = env.step(action)
            total, done = total + reward, terminated or truncated
        assert total == score


def test_predict_in_a_batch_forgets_row_by_row(run):
    policy = spotter.load(run.id)
    obs = np.array([[0.1, 0.2, 0.03, 0.4]] * 2, np.float32)
    _, state = policy.predict(obs)
    _, state = policy.predict(obs, state, reward=np.array([1.0, 1.0]))
    several, _ = policy.predict(obs, state, reward=[1.0, 1.0], episode_start=[True, False])
    fresh, _ = policy.predict(obs[0])
    assert several[0] == fresh
    seen = policy._completed(obs, state, [1.0, 3.0], [True, False])
    assert seen["previous_action"].tolist() == [0, state.action[1] + 1]
    assert seen["previous_reward"].tolist() == [[0], [3]]
    with pytest.raises(UserError, match=r"sees its last reward .*: give reward="):
        policy.predict(obs, state)
    with pytest.raises(UserError, match=r"episode_start should have 2 entries"):
        policy.predict(obs, state, reward=[1.0, 1.0], episode_start=[True])
    with pytest.raises(UserError, match=r"is not that of this batch"):
        policy.predict(obs, state, reward=[1.0, 1.0, 1.0])


def test_a_policy_that_sees_no_reward_takes_none(make_config):
    config = make_config("CartPole-v1", budget={"env_steps": 64}, eval={"episodes": 1})
    policy = train(config).policy
    with pytest.raises(UserError, match=r"does not see its last reward; leave reward out"):
        policy.predict(np.zeros(4, np.float32), reward=1.0)


def test_the_inspector_shows_them_step_by_step(run):
    trace = capture(str(run.folder), pictures=False)
    columns = trace.columns
    assert columns["obs/previous_action"][0] == 0
    assert (columns["obs/previous_action"][1:] == columns["action"][:-1] + 1).all()
    assert columns["obs/previous_reward"][1:].ravel().tolist() == columns["reward"][:-1].tolist()


def test_it_is_a_setting_of_the_command_line():
    config = resolve("CartPole-v1", ["env.previous_action=true"]).config
    assert config.env.shows_previous == "previous_action"
