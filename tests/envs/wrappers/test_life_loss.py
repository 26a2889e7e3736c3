"""P20: three deaths for the learner, one game for the score."""

import numpy as np
import pytest

from spotter.episodes.capture import capture
from spotter.episodes.film_play import play
from spotter.training import checkpoint
from spotter.training.evaluate import Evaluator
from spotter.training.training import Training
from tests.envs.lives import LIVES, STEPS
from tests.episodes.making import saved
from tests.policy.counting import Counting

GAME = "tests.envs.lives:Lives-v0"
PER_LIFE = {"wrappers": [{"name": "life_loss"}]}


@pytest.mark.parametrize("backend", ["sync", "process"])
def test_p20_a_lost_life_ends_an_episode_for_the_learner_only(make_config, backend):
    env = {**PER_LIFE, "backend": backend, "count": 2}
    config = make_config(GAME, {"name": "ppo", "steps": 24}, env=env, eval={"episodes": 3})
    with Training(config) as training, Evaluator(config) as evaluator:
        rollout = training.source.worker.collector.collect(24, training.progress)
        ends = rollout.terminated[:, 0].nonzero().squeeze(-1).tolist()
        assert ends == [3, 7, 11, 15, 19, 23], "every death, in two games of three lives"
        episodes, _ = training.source.worker.collector.take()
        games = [(e.score, e.length) for e in episodes]
        assert games == [(LIVES * STEPS, LIVES * STEPS)] * 4, "two games in each of two copies"
        evaluation = evaluator.run(training.policy, 0)
        assert evaluation.scores == (12.0,) * 3
        assert evaluation.lengths == (12,) * 3, "evaluation knows only the end of the game"


def test_p20_a_death_bootstraps_from_nothing_and_the_game_goes_on(make_config):
    config = make_config(GAME, {"name": "ppo", "steps": 12}, env={**PER_LIFE, "count": 1})
    with Training(config) as training:
        rollout = training.source.worker.collector.collect(12, training.progress)
        assert (rollout.next_value[rollout.terminated] == 0).all()
        steps = rollout.obs["obs"][:, 0, 0].tolist()
        assert steps == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], "no reset between lives"


def test_a_run_in_the_middle_of_a_game_is_brought_back(make_config):
    config = make_config(GAME, {"name": "ppo", "steps": 6}, env={**PER_LIFE, "count": 2})
    with Training(config) as training:
        training.source.worker.collector.collect(6, training.progress)
        state = training.source.worker.collector.state()
        after = training.source.worker.collector.collect(6, training.progress).obs["obs"].clone()
    with Training(config) as other:
        assert other.source.worker.collector.restore(state) == []
        again = other.source.worker.collector.collect(6, other.progress).obs["obs"]
    assert np.array_equal(after, again)


def test_whole_episode_algorithms_take_lives_for_episodes(make_config):
    algo = {"name": "reinforce", "episodes": 1}
    config = make_config(GAME, algo, env={**PER_LIFE, "count": 2})
    with Training(config) as training:
        update = training.step()
        assert update.env_steps == 2 * STEPS
        assert update.episodes == (), "the games are not over"
        training.step()
        assert [e.score for e in training.step().episodes] == [12.0, 12.0]


def test_a_game_without_lives_is_one_sentence(make_config):
    from spotter.types import UserError

    with pytest.raises(UserError, match=r"life_loss needs info\['lives'\]"):
        Training(make_config("CartPole-v1", env=PER_LIFE))


def test_a_policy_forgets_with_a_life_wherever_it_acts(make_config, monkeypatch):
    monkeypatch.setattr("tests.envs.lives.STEPS", 3)  # of two actions in turn: 0, 1, 0
    per_life = {"wrappers": [{"name": "life_loss", "train_only": False}], "backend": "sync"}
    config = make_config(GAME, env=per_life, eval={"episodes": 2})
    saved(config)
    with Evaluator(config) as evaluator:
        policy = Counting(evaluator.spaces, config.policy)
        evaluation = evaluator.run(policy, 0)
    monkeypatch.setattr(checkpoint, "Policy", Counting)
    played = [
        *evaluation.first_actions,
        np.stack(play(config, policy, 3, deterministic=True).actions),
        capture("@last", seed=3, pictures=False).columns["action"],
    ]
    assert [actions.tolist() for actions in played] == [[0, 1, 0] * LIVES] * 4
