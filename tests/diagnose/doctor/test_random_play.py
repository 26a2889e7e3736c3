"""What one game of random play shows, with games made for it and with real ones."""

import numpy as np
import pytest

from spotter.config import resolve
from spotter.diagnose.doctor import random_play
from spotter.diagnose.doctor.environments import examine
from spotter.envs.checkup import End, Played


def played(rewards=(1.0,), shown=((0.0,), (1.0,)), ends=()):
    observations = tuple(np.array(one, np.float32) for one in shown)
    paid = tuple((reward, False, False) for reward in rewards)
    return Played(observations, paid, (0,) * len(paid), (0.0,) * len(paid), tuple(ends))


@pytest.mark.parametrize(
    ("rewards", "word"),
    [((0.0, 0.0), None), ((1.0, -1.0), None), ((0.0, 0.0, 100.0), None), ((-1.0, -100.0), None),
     ((5e4, 0.0), "large"), ((-1e3, -2e3), "large"), ((1e-5, 0.0), "small")],
)  # fmt: skip
def test_rewards_far_from_what_settings_are_made_for(rewards, word):
    found = random_play.odd_rewards(played(rewards))
    assert (found is None) == (word is None)
    if found:
        assert f"so {word}" in found.sentence and found.overrides == ("reward.normalize=true",)


def test_a_span_of_rewards():
    assert random_play.rewards(played((-1.0, 0.0, -0.5))) == "-1 to 0"
    assert random_play.rewards(played((1.0, 1.0))) == "1"


def test_an_end_that_is_a_beginning_shows_only_where_something_moves():
    again = End(np.zeros(1), np.zeros(1), in_info=False)
    other = End(np.ones(1), np.zeros(1), in_info=False)
    assert random_play.resets_itself(played(ends=[again, again]))
    assert not random_play.resets_itself(played(ends=[again]))
    assert not random_play.resets_itself(played(ends=[again, other]))
    life = End(np.ones(1), np.ones(1), in_info=False)
    assert not random_play.resets_itself(played(ends=[life, life])), "the game goes on"
    assert not random_play.resets_itself(played(shown=((0.0,), (0.0,)), ends=[again, again]))


@pytest.mark.parametrize("name", ["CartPole-v1", "FrozenLake-v1", "Bandit-v0", "CliffWalking-v1"])
def test_nothing_is_said_about_sound_games(name):
    found = examine({"env": resolve(name).config.env.model_dump(mode="json", by_alias=True)})
    assert found.state == "ok" and "reset" not in found.problem and "rewards" not in found.problem
    assert found.rewards


def test_a_game_that_resets_itself_is_told_before_any_run():
    found = examine({"env": {"id": "tests.diagnose.doctor.games:Eager-v0", "family": "gymnasium"}})
    assert found.state == "ok" and "it resets itself" in found.problem
