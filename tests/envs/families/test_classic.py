import pytest

from spotter.envs.families.classic import describe
from tests.envs.helpers import config


@pytest.mark.parametrize(
    ("env_id", "threshold", "score_range"),
    [
        ("CartPole-v0", 195, (0, 200)),
        ("CartPole-v1", 475, (0, 500)),
        ("MountainCar-v0", -110, (-200, 0)),
        ("MountainCarContinuous-v0", 90, (-99.9, 100)),
        ("Acrobot-v1", -100, (-500, 0)),
        ("Pendulum-v1", -200, (-3254.72088, 0)),
    ],
)
def test_thresholds_and_ranges(env_id, threshold, score_range):
    info = describe(config(env_id, "classic"))
    assert info.threshold == threshold
    assert info.score_range == pytest.approx(score_range)


def test_settings_that_change_the_score_change_the_threshold():
    assert describe(config("CartPole-v1", "classic", time_limit=100)).threshold == 95
    old_reward = describe(
        config("CartPole-v1", "classic", kwargs={"sutton_barto_reward": True}, time_limit=100)
    )
    assert (old_reward.threshold, old_reward.score_range) == (0, (-1, 0))


def test_an_unknown_member_has_what_is_registered():
    assert describe(config("phys2d/CartPole-v1", "classic")).threshold == 475
