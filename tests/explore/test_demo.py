"""The best way of an archive as settings of a training."""

import pytest

from spotter.config import resolve
from spotter.config.demo import read
from spotter.envs.make import EnvBuilder
from spotter.explore.demo import of_archive
from spotter.types import UserError
from tests.explore.test_go import explored

ID = "tests.explore.test_go:GoRooms-v0"


def test_the_best_way_is_what_training_starts_from(tmp_path):
    found = explored(tmp_path, 600)
    given = of_archive(tmp_path, ID)
    assert read(given["actions"]) == found.archive.way(found.archive.best)
    assert (given["score"], given["seed"]) == (11.0, 1)
    env = resolve(ID, [{"env.demo": given}]).config.env
    obs, _ = EnvBuilder(env).build().env.reset(seed=5)
    assert obs.tolist() == [38.0, 1.0], "one action before the door, with the key"


def test_an_archive_of_another_game_or_without_a_score_is_refused(tmp_path):
    explored(tmp_path, 1)
    with pytest.raises(UserError, match=r"holds an exploration of .*GoRooms-v0, not CartPole-v1"):
        of_archive(tmp_path, "CartPole-v1")
    with pytest.raises(UserError, match="has a score yet, so there is nothing to learn from"):
        of_archive(tmp_path, ID)


def test_a_folder_without_an_archive_is_refused_with_the_command_that_makes_one(tmp_path):
    with pytest.raises(UserError, match="make one with: spotter explore A-v0"):
        of_archive(tmp_path, "A-v0")
