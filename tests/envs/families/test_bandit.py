import gymnasium as gym
import numpy as np
import pytest

from spotter.envs.families import bandit
from spotter.envs.families.bandit import describe, draw, make
from spotter.types import UserError
from tests.envs.helpers import both_backends, config, vector


def armed(**kwargs):
    return config("Bandit-v0", "bandit", kwargs=kwargs)


def pull(game, arm, times):
    game.reset(seed=1)
    return np.array([game.step(arm)[1] for _ in range(times)])


def test_arms_pay_around_their_means():
    game = make(armed(means=[-2, 5], std=0.5, pulls=10_000))
    for arm, mean in enumerate((-2, 5)):
        paid = pull(game, arm, 2000)
        assert abs(paid.mean() - mean) < 0.05 and abs(paid.std() - 0.5) < 0.05


def test_the_same_seed_pays_the_same():
    game = make(armed(arms=2, pulls=100))
    assert (pull(game, 0, 50) == pull(game, 0, 50)).all()


def test_an_episode_lasts_its_pulls():
    game = make(armed(means=[0, 1], pulls=3))
    game.reset(seed=1)
    assert [game.step(0)[2] for _ in range(3)] == [False, False, True]
    assert make(armed()).action_space == gym.spaces.Discrete(10), "ten arms unless said otherwise"


def test_regret_is_what_the_best_arm_would_have_paid_more():
    game = make(armed(means=[0, 3, 1], pulls=3))
    game.reset(seed=1)
    assert [game.step(arm)[4]["regret"] for arm in range(3)] == [3, 0, 2]


@pytest.mark.parametrize(
    ("kwargs", "threshold", "score_range"),
    [
        ({"arms": 3}, 1.5, (0, 2)),
        ({"means": [4, 1, 2], "pulls": 10}, 30, (10, 40)),
        ({"means": [2, 2, 1]}, 1.5, (1, 2)),
        ({"means": [1, 1]}, None, (1, 1)),
    ],
)
def test_solved_is_half_way_from_the_second_best_arm_to_the_best(kwargs, threshold, score_range):
    info = describe(armed(**kwargs))
    assert (info.threshold, info.score_range) == (threshold, score_range)
    limited = describe(armed(**kwargs).model_copy(update={"time_limit": 1}))
    assert limited.threshold == (threshold and threshold / kwargs.get("pulls", 1))


@pytest.mark.parametrize(
    ("kwargs", "sentence"),
    [
        ({"mean": [1, 2]}, "no setting env.kwargs.mean; did you mean 'means'"),
        ({"means": [1]}, r"must be a list of 2 or more numbers, not \[1\]"),
        ({"means": "abc"}, "must be a list of 2 or more numbers"),
        ({"means": [1, "x"]}, "must be a list of 2 or more numbers"),
        ({"means": [1, float("nan")]}, "must be a list of 2 or more numbers"),
        ({"arms": 1}, "arms must be a whole number from 2 up, not 1"),
        ({"arms": 2.5}, "arms must be a whole number from 2 up"),
        ({"arms": 3, "means": [1, 2]}, "means or env.kwargs.arms, not both"),
        ({"arms": 3, "std": -1}, "std must be a number from 0 up, not -1"),
        ({"arms": 3, "pulls": 0}, "pulls must be a whole number from 1 up, not 0"),
        ({"arms": 3, "pulls": True}, "pulls must be a whole number from 1 up, not True"),
    ],
)
def test_a_mistake_is_one_sentence(kwargs, sentence):
    for ask in (make, describe):
        with pytest.raises(UserError, match=sentence):
            ask(armed(**kwargs))


def test_an_arm_that_is_not_there_raises():
    game = make(armed(arms=2))
    game.reset(seed=1)
    with pytest.raises(ValueError, match="no arm 2"):
        game.step(2)


@both_backends
def test_workers_know_it_too(backend):
    with vector(armed(means=[0, 9], std=0), backend, count=2) as vec:
        vec.reset([1, 2])
        vec.step(np.array([0, 1]))
        assert vec.buffers.reward.tolist() == [0, 9]


def heights(image, means):
    """Rows of bar colour in the middle of each bar, by arm."""
    colours = [bandit._QUIET, bandit._CHOSEN]
    columns = [bandit._GAP + arm * (bandit._BAR + bandit._GAP) + 20 for arm in range(len(means))]
    return [sum((image[:, column] == c).all(axis=1).sum() for c in colours) for column in columns]


def test_the_picture_is_honest():
    means = np.array([1.0, 2.0, 4.0])
    bars = heights(draw(means, np.zeros(3), None, 0.0), means)
    assert bars[2] / bars[0] == pytest.approx(4, rel=0.05)
    assert bars[2] / bars[1] == pytest.approx(2, rel=0.05)


def test_the_picture_shows_the_last_pull_and_the_counts():
    means = np.array([1.0, -2.0])
    before, after = draw(means, np.array([0, 0]), None, 0.0), draw(means, np.array([0, 7]), 1, 3.5)
    assert before.shape == after.shape and before.dtype == np.uint8
    assert not (before == bandit._CHOSEN).all(axis=2).any()
    chosen = (after == bandit._CHOSEN).all(axis=2)
    second = bandit._GAP + bandit._BAR + bandit._GAP
    assert chosen[:, second:].any() and not chosen[:, : second - 4].any()
    assert (after == bandit._REWARD).all(axis=2).any()
    counts = slice(bandit._PLOT + bandit._MARGIN + 10, None)
    assert (before[counts, :second] == after[counts, :second]).all()
    assert (before[counts, second:] != after[counts, second:]).any()


def test_counts_of_any_size_can_be_drawn():
    small = draw(np.array([0.0, 0.0]), np.array([999, 1]), 0, -1234.5)
    large = draw(np.array([0.0, 0.0]), np.array([999, 10**9]), 0, -1234.5)
    assert small.shape == large.shape
    assert (small != large).any()


def test_counting_goes_on_over_episodes_and_starts_anew_with_a_seed():
    game = make(armed(arms=2), render=True)
    for seed in (1, None, None):
        game.reset(seed=seed)
        game.step(1)
    assert game.unwrapped.counts.tolist() == [0, 3]
    game.reset(seed=2)
    assert game.unwrapped.counts.tolist() == [0, 0]
