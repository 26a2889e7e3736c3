"""Evaluation: held-out, frozen, unbiased, unshaped."""

import gymnasium as gym
import pytest
import torch

from spotter import seeding
from spotter.training.evaluate import Evaluator, joined, rounds_of
from spotter.training.training import Training
from spotter.types import Evaluation
from tests.policy.counting import Counting


def test_p34_how_many_episodes_are_played_is_fixed_in_advance():
    assert rounds_of(1) == [1]
    assert rounds_of(32) == [32]
    assert rounds_of(33) == [17, 16]
    assert rounds_of(100) == [25] * 4


@pytest.mark.parametrize("episodes", [5, 40])
@pytest.mark.parametrize("deterministic", [True, False])
def test_every_score_stands_beside_the_seed_of_its_episode(make_config, episodes, deterministic):
    """Episodes end in another order than they were begun in."""
    settings = {"episodes": episodes, "deterministic": deterministic}
    config = make_config("CartPole-v1", eval=settings)
    with Training(config) as training, Evaluator(config) as evaluator:
        training.step()
        evaluation = evaluator.run(training.policy, 64)
        env = gym.make("CartPole-v1")
        for place in range(len(evaluation.first_actions)):
            env.reset(seed=evaluation.env_seeds[place])
            actions = evaluation.first_actions[place]
            assert sum(env.step(int(action))[1] for action in actions) == evaluation.scores[place]
            assert len(actions) == evaluation.lengths[place]
        assert len(set(evaluation.env_seeds)) == episodes == len(evaluation.scores)
        if deterministic:
            for seed, score in zip(evaluation.env_seeds, evaluation.scores, strict=True):
                assert alone(training.policy, seed) == score
    assert len(set(evaluation.scores)) > 1, "or any order would do"


def alone(policy, seed):
    """The score of one greedy episode."""
    env = gym.make("CartPole-v1")
    (obs, _), score, over = env.reset(seed=seed), 0.0, False
    while not over:
        shown = {"obs": torch.from_numpy(obs)[None]}
        action = policy.act(shown, deterministic=True).action.item()
        obs, reward, terminated, truncated, _ = env.step(action)
        score, over = score + reward, terminated or truncated
    return score


def test_cut_episodes_are_counted(make_config):
    config = make_config("CartPole-v1", env={"time_limit": 12}, eval={"episodes": 20})
    with Training(config) as training, Evaluator(config) as evaluator:
        evaluation = evaluator.run(training.policy, 0)
    assert evaluation.truncated == tuple(length == 12 for length in evaluation.lengths)
    assert sum(evaluation.truncated) > 0
    assert not any(evaluation.stalled), "every step was rewarded"
    assert evaluation.certificate()["truncated"] == list(evaluation.truncated)
    again = Evaluation.from_certificate(evaluation.certificate())
    assert again.certificate() == evaluation.certificate()


def test_a_policy_that_goes_in_circles_is_stalled(make_config):
    """Always left: on the frozen lake it stands at the wall until the time limit."""
    config = make_config("FrozenLake-v1", env={"kwargs": {"is_slippery": False}})
    with Training(config) as training, Evaluator(config) as evaluator:
        with torch.no_grad():
            training.policy.policy_head.linear.weight.zero_()
            training.policy.policy_head.linear.bias.copy_(torch.tensor([5.0, 0.0, 0.0, 0.0]))
        evaluation = evaluator.run(training.policy, 0)
    assert set(evaluation.lengths) == {100}
    assert evaluation.stalled == evaluation.truncated == (True,) * 20


def test_parts_of_a_seed_set_are_other_episodes(make_config):
    config = make_config("CartPole-v1", eval={"episodes": 4})
    with Training(config) as training, Evaluator(config) as evaluator:
        parts = [evaluator.run(training.policy, 0, "confirm", part) for part in range(3)]
    whole = joined(parts)
    assert len(set(whole.env_seeds)) == 12 == whole.certificate()["episodes"]
    assert whole.scores[4:8] == parts[1].scores
    assert whole.parts == 3


def test_p34_long_high_paying_episodes_count_as_much_as_short_ones(make_config):
    """Half the copies play 1-step episodes worth 1, half 50-step episodes worth 50."""
    config = make_config("tests.envs.lopsided:Lopsided-v0", eval={"episodes": 40})
    with Training(config) as training, Evaluator(config) as evaluator:
        evaluation = evaluator.run(training.policy, 0)
    assert len(evaluation.scores) == 40
    lengths = set(evaluation.lengths)
    assert lengths == {1, 50}
    share = evaluation.lengths.count(50)
    assert evaluation.score == pytest.approx((share * 50 + (40 - share)) / 40)
    assert share > 5, "an evaluation that stops at the first 40 ends would have almost none"


def test_p15_evaluating_twice_gives_the_same_scores_and_changes_nothing(make_config):
    config = make_config(
        "CartPole-v1", policy={"normalize_obs": "running"}, eval={"deterministic": False}
    )
    with Training(config) as training, Evaluator(config) as evaluator:
        training.step()
        state = {k: v.clone() for k, v in training.policy.state_dict().items()}
        first = evaluator.run(training.policy, 1)
        second = evaluator.run(training.policy, 1)
        assert first.scores == second.scores
        assert len(set(first.scores)) > 1
        now = training.policy.state_dict()
        assert all(torch.equal(state[key], now[key]) for key in state)


def test_evaluation_scores_the_trained_network_not_a_copy_of_the_first(make_config):
    config = make_config("CartPole-v1")
    with Training(config) as training, Evaluator(config) as evaluator:
        before = evaluator.run(training.policy, 0).scores
        with torch.no_grad():
            training.policy.policy_head.linear.weight.zero_()
            training.policy.policy_head.linear.bias.copy_(torch.tensor([5.0, -5.0]))
        after = evaluator.run(training.policy, 0)
    assert before != after.scores
    assert after.score == pytest.approx(9.4, abs=1), "always pushing left falls over at once"


def test_evaluation_ends_even_where_episodes_never_do(make_config, monkeypatch):
    monkeypatch.setattr("spotter.envs.make.UNLIMITED_CUT", 30)
    config = make_config("tests.envs.lopsided:Endless-v0", eval={"episodes": 3})
    with Training(config) as training, Evaluator(config) as evaluator:
        assert evaluator.run(training.policy, 0).lengths == (30, 30, 30)


def test_held_out_seeds_never_meet_training_seeds():
    streams = [seeding.integers(7, f"{name} envs", 200) for name in ("train", "eval", "test")]
    merged = [seed for stream in streams for seed in stream]
    assert len(set(merged)) == 600


def test_evaluation_leaves_out_shaping_and_train_only_wrappers(make_config):
    config = make_config(
        "CartPole-v1",
        env={"wrappers": [{"name": "time_limit", "steps": 3, "train_only": True}]},
        reward={"signals": [{"source": "step_penalty", "weight": 100.0}], "clip": 0.5},
    )
    with Training(config) as training, Evaluator(config) as evaluator:
        update = training.step()
        evaluation = evaluator.run(training.policy, 0)
    assert {episode.length for episode in update.episodes} == {3}
    assert update.episodes[0].score == 3
    assert update.episodes[0].parts == {"env": 3.0, "step_penalty": -300.0}
    assert min(evaluation.lengths) > 3
    assert evaluation.scores == tuple(float(length) for length in evaluation.lengths)


def test_a_memory_is_carried_from_step_to_step_and_starts_anew_with_each_episode(make_config):
    """In rounds: envs of the second have played an episode before."""
    config = make_config("CartPole-v1", eval={"episodes": 40})
    with Evaluator(config) as evaluator:
        policy = Counting(evaluator.spaces, config.policy)
        evaluation = evaluator.run(policy, 0)
    assert any(length % 2 for length in evaluation.lengths), "or a memory that stays goes unnoticed"
    for actions in evaluation.first_actions:
        assert actions.tolist() == [step % 2 for step in range(len(actions))]
    env = gym.make("CartPole-v1")
    for seed, length in zip(evaluation.env_seeds, evaluation.lengths, strict=True):
        env.reset(seed=seed)
        assert not any(env.step(step % 2)[2] for step in range(length - 1))
        assert env.step((length - 1) % 2)[2]
