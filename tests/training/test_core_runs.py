"""A run with a core, and whatever plays its policy afterwards: all of them carry the state."""

import gymnasium as gym
import numpy as np
import pytest
import torch

import spotter
from spotter.episodes.branch import branch
from spotter.episodes.capture import capture, capture_to_disk
from spotter.episodes.film_play import play
from spotter.episodes.play import Session, take_over
from spotter.training import checkpoint
from spotter.training.evaluate import Evaluator
from tests.episodes.making import saved

CORES = {"gru": {"core": "gru"}, "lstm": {"core": {"name": "lstm", "layers": 2}, "shared": True}}


@pytest.fixture(params=CORES)
def run(request, make_config):
    policy = {**CORES[request.param], "policy_gain": 1.0}
    config = make_config("CartPole-v1", env={"time_limit": 30}, policy=policy)
    return saved(config, updates=2)


def by_hand(policy, seen):
    """Greedy actions and values for the observations of one episode, the state held by hand."""
    state, actions, values = policy.initial_state(1), [], []
    for obs in seen:
        acted = policy.act({"obs": torch.from_numpy(obs[None])}, None, state, deterministic=True)
        actions.append(int(acted.action))
        values.append(float(acted.value))
        state = acted.state
    return actions, values


def test_captures_and_what_if(run):
    folder, policy = capture_to_disk(str(run.folder), pictures=False), checkpoint.load("@last")
    trace = capture(str(run.folder), pictures=False)
    actions, values = by_hand(policy, trace.columns["obs/obs"])
    assert trace.columns["action"].tolist() == actions
    assert trace.columns["value"] == pytest.approx(values, abs=1e-5)
    other = branch(folder, 5, 1 - actions[5], pictures=False)
    _, values = by_hand(policy, other.columns["obs/obs"])
    assert other.columns["value"] == pytest.approx(values, abs=1e-5), "after the other action too"
    assert other.columns["action"][5] != actions[5]


def test_play_and_take_over(run):
    policy, trace = checkpoint.load("@last"), capture(str(run.folder), pictures=False)
    actions, values = by_hand(policy, trace.columns["obs/obs"])
    with Session(str(run.folder), "agent", trace.meta.seed) as session:
        session.reset()
        for step in range(6):
            shot = session.step(frozenset())
            assert (int(session.actions[-1]), shot.value) == (
                actions[step],
                pytest.approx(values[step], abs=1e-5),
            )
    game = take_over(capture_to_disk(str(run.folder), pictures=False), 6)
    game.reset()
    (shot,) = game.step(frozenset({"right"}))
    game.close()
    assert shot.value == pytest.approx(values[6], abs=1e-5), "it knows what was before"


def test_evaluation_films_and_predict_agree(run):
    config, policy = run.config(), checkpoint.load("@last")
    with Evaluator(config) as evaluator:
        found = evaluator.run(policy, 0, episodes=3)
    loaded = spotter.load(run.id)
    for seed, length, first in zip(
        found.env_seeds, found.lengths, found.first_actions, strict=True
    ):
        filmed = play(config, policy, seed, deterministic=True).actions
        assert [int(action) for action in filmed] == first.tolist()
        env = gym.make("CartPole-v1", max_episode_steps=30)
        obs, _ = env.reset(seed=seed)
        state, actions, done = None, [], False
        while not done:
            action, state = loaded.predict(obs, state)
            obs, _, terminated, truncated, _ = env.step(action)
            actions.append(action)
            done = terminated or truncated
        assert (len(actions), actions) == (length, first.tolist())


def test_predict_forgets_where_an_episode_starts(run):
    loaded, obs = spotter.load(run.id), np.array([[0.1, 0.2, 0.3, 0.4]] * 3, np.float32)
    _, fresh = loaded.predict(obs)
    _, later = loaded.predict(obs, fresh)
    _, mixed = loaded.predict(obs, later, episode_start=[True, False, True])
    for part, begun, before in zip(mixed, fresh, later, strict=True):
        assert torch.equal(part[0], begun[0]) and torch.equal(part[2], begun[2])
        assert not torch.equal(part[1], begun[1]) and not torch.equal(part[1], before[1])
