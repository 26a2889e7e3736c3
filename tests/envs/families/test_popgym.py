"""POPGym: every task is made, described and trained on; ids need no package before them."""

import pytest

from spotter.config import resolve
from spotter.envs.families import popgym
from spotter.envs.make import EnvBuilder
from spotter.training.training import Training
from spotter.types import UserError

EASY = ["RepeatPrevious", "RepeatFirst", "Autoencode", "Battleship", "Concentration", "CountRecall",
        "HigherLower", "MineSweeper", "MultiarmedBandit", "PositionOnlyCartPole",
        "NoisyPositionOnlyCartPole", "PositionOnlyPendulum", "VelocityOnlyCartpole"]  # fmt: skip


@pytest.fixture(autouse=True)
def _installed():
    pytest.importorskip("popgym")


@pytest.mark.parametrize("task", EASY)
def test_a_policy_with_a_core_learns_from_it(task):
    env_id = f"popgym-{task}Easy-v0"
    small = {"policy.core": "gru", "env.count": 2, "algo.steps": 8, "algo.minibatch": 8}
    config = resolve(env_id, small).config
    assert config.env.family == "popgym"
    with Training(config) as training:
        assert training.step().env_steps == 16


def test_it_is_known_with_and_without_its_package():
    env = resolve("popgym:popgym-RepeatFirstEasy-v0").config.env
    assert env.family == "popgym" and popgym.describe(env).score_range == (-1.0, 1.0)
    assert EnvBuilder(env).build().env.spec.id == "popgym-RepeatFirstEasy-v0"


def test_a_task_without_images_says_so():
    env = resolve("popgym-RepeatFirstEasy-v0").config.env
    with pytest.raises(UserError, match="popgym-RepeatFirstEasy-v0 draws nothing"):
        popgym.make(env, render=True)
