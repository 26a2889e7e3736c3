"""Time, seeds and ends of Doom, where others go wrong; with real games."""

import numpy as np
import pytest

from spotter.envs.families import vizdoom
from spotter.envs.make import EnvBuilder

pytest.importorskip("vizdoom")


def doom(name="Basic", **settings):
    return vizdoom.make(config(name, **settings))


def config(name="Basic", **settings):
    return vizdoom.Config(id=f"VizDoom/{name}", family="vizdoom", **{"stack": 1, **settings})


def played(env, actions):
    """Everything a copy shows and pays under these actions, through ends."""
    seen = []
    for action in actions:
        obs, reward, over, cut, _ = env.step(int(action))
        seen.append((obs.tobytes(), reward, over, cut))
        if over or cut:
            seen.append(env.reset()[0].tobytes())
    return seen


@pytest.mark.parametrize("skip", [1, 4])
def test_p17_a_decision_takes_exactly_so_many_tics(skip):
    env = doom("DefendTheCenter", frame_skip=skip)
    try:
        env.reset(seed=0)
        begun = env.engine.time()
        for step in range(1, 8):
            *_, info = env.step(0)
            assert env.engine.time() - begun == step * skip == info["doom"]["tics"]
    finally:
        env.close()


@pytest.mark.parametrize("skip", [1, 4, 7])
def test_p22_the_scenarios_limit_is_in_tics_whatever_the_skip(skip):
    """Basic lasts 300 tics at −1 each; the last decision is as short as it must be."""
    env = doom(frame_skip=skip)
    try:
        env.reset(seed=0)
        begun, steps, score = env.engine.time(), 0, 0.0
        over = cut = False
        while not (over or cut):
            _, reward, over, cut, _ = env.step(0)
            steps, score = steps + 1, score + reward
        assert (over, cut, score) == (False, True, -300.0)
        assert env.engine.time() - begun == 300
        assert steps == -(-300 // skip) == env.spec.max_episode_steps
    finally:
        env.close()


@pytest.mark.parametrize(
    ("limits", "decisions"),
    [({"time_limit": 5}, 5), ({"tic_cap": 18}, 5), ({"tic_cap": 18, "time_limit": 3}, 3)],
)
def test_p22_time_limit_is_in_decisions_and_tic_cap_in_tics(limits, decisions):
    env = doom("TakeCover", frame_skip=4, **limits)  # which has no limit of its own
    try:
        env.reset(seed=0)
        cuts = [env.step(0)[3] for _ in range(decisions)]
        assert cuts == [False] * (decisions - 1) + [True]
        assert env.spec.max_episode_steps == decisions
    finally:
        env.close()


def test_scenarios_without_a_limit_get_one_in_evaluation_only():
    assert vizdoom.settings(config("TakeCover"))["tic_cap"] == 0
    instance = EnvBuilder(config("TakeCover"), training=False).build()
    assert "TimeLimit" in type(instance.env).__name__
    instance.close()


def test_p25_a_cut_episode_shows_its_true_last_moment():
    """ViZDoom's own limit would leave no picture; the same game without a limit shows the truth."""
    cut, longer = doom(), doom(tic_cap=400)
    try:
        cut.reset(seed=4)
        longer.reset(seed=4)
        for step in range(75):
            action = 1 + step % 2
            shown, paid, over, is_cut, info = cut.step(action)
            truth, other, *_, true_info = longer.step(action)
        assert is_cut and not over
        assert (shown == truth).all() and paid == other and shown.any()
        assert info == true_info
    finally:
        cut.close()
        longer.close()


def test_p25_a_finished_game_keeps_its_last_picture():
    """Basic is over with the monster; there is nothing to see after that, so nothing is made up."""
    env = doom(stack=2)
    try:
        before, _ = env.reset(seed=4)
        for step in range(75):
            # aside until something is hit
            obs, reward, over, cut, info = env.step((4, 5)[step // 12 % 2])
            if over:
                break
            before = obs
        assert over and not cut and reward > 80, "the shot is paid with the end"
        assert (obs == before).all() and obs.any()
        assert info["kills"] == 1.0, "numbers are those of the end"
        assert env.reset()[0].any()
    finally:
        env.close()


def test_p26_one_seed_gives_ten_episodes_and_gives_them_again():
    """In a fresh game, in a used one, and in one that is used in another way."""
    actions = np.random.default_rng(0).integers(0, 6, 10 * 12)
    first, second = doom(tic_cap=48), doom(tic_cap=48)
    try:
        starts = [first.reset(seed=3)[0].tobytes()]
        told = played(first, actions)
        starts += [entry for entry in told if isinstance(entry, bytes)]
        assert len(starts) >= 10 and len(set(starts)) >= 8, "the monster is where it pleases"
        second.reset(seed=99)
        played(second, [1] * 10)  # the weapon sways, and would do so into the next episode
        for env in (second, first):
            assert env.reset(seed=3)[0].tobytes() == starts[0]
            assert played(env, actions) == told
    finally:
        first.close()
        second.close()


@pytest.mark.parametrize("name", ["DefendTheCenter", "MyWayHome"])
def test_p26_other_seeds_give_other_games(name):
    env = doom(name)
    try:
        env.action_space.seed(0)
        actions = [env.action_space.sample() for _ in range(12)]
        told = []
        for seed in (1, 2, 3):
            start = env.reset(seed=seed)[0].tobytes()
            told.append((start, *played(env, actions)))
        assert len(set(told)) == 3
    finally:
        env.close()


def test_the_sway_of_the_weapon_does_not_outlive_a_seed():
    """Moved at the end of one episode, fired at the start of the next: the worst case."""
    env = doom()
    try:
        told = []
        for history in ([], [1] * 13, [2] * 7):
            env.reset()
            played(env, history)
            env.reset(seed=5)
            told.append(played(env, [1, 3, 3, 3, 2, 3]))
        assert told[0] == told[1] == told[2]
    finally:
        env.close()


def test_skill_makes_a_difference():
    """Who does nothing lives longer where it is easy."""
    lived = []
    for skill in (1, 5):
        env = doom("DefendTheCenter", skill=skill)
        try:
            env.reset(seed=1)
            steps, over = 0, False
            while not over:
                *_, over, _, _ = env.step(0)
                steps += 1
            lived.append(steps)
        finally:
            env.close()
    assert lived[0] > 1.2 * lived[1]
