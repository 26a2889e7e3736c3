"""The pitfalls that live on the environment's side, each under its number."""

import numpy as np
import pytest

from spotter import seeding
from spotter.envs.backends.slices import EnvError
from spotter.testing import backends
from spotter.testing.scripted import script
from tests.envs.helpers import both_backends, config, vector, wrapped, zeros


def play(vec, steps, action=0):
    """Every episode that ends within some steps."""
    return [e for _ in range(steps) for e in vec.step(np.full(vec.count, action))]


@both_backends
def test_p01_the_learned_set_equals_the_true_set(backend):
    """No dummy transition after an end, none lost, none twice."""
    actions = backends.random_actions(30)
    expected = {
        (*t.before.numbers, *t.after.numbers, t.after.reward, t.terminated)
        for column, seed in enumerate(backends.SEEDS)
        for t in script(seed, actions[:, column].tolist())
    }
    learned = []
    with vector(config("Scripted-v0"), backend, workers=2) as vec:
        before = vec.reset(backends.SEEDS).obs["obs"].copy()
        for taken in actions:
            vec.step(taken)
            b = vec.buffers
            after = np.where(b.terminated[:, None], b.final_obs["obs"], b.obs["obs"])
            rows = zip(before, after, b.reward, b.terminated, strict=True)
            learned += [(*s, *n, float(r), bool(t)) for s, n, r, t in rows]
            before = b.obs["obs"].copy()
    assert len(learned) == actions.size
    assert set(learned) == expected


@both_backends
def test_p02_p03_a_truncated_copy_has_its_true_final_observation(backend):
    with vector(config("Constant-v0", time_limit=4), backend) as vec:
        vec.reset([1, 2, 3])
        for _ in range(4):
            vec.step(zeros(vec))
        assert vec.buffers.truncated.all() and not vec.buffers.terminated.any()
        assert vec.buffers.final_obs["obs"].tolist() == [[4]] * 3
        assert vec.buffers.obs["obs"].tolist() == [[0]] * 3


@both_backends
def test_p05_both_flags_mean_terminated(backend):
    with vector(config("Scripted-v0", kwargs={"lengths": [1], "ends": ["both"]}), backend) as vec:
        vec.reset([1, 2, 3])
        episodes = vec.step(zeros(vec))
        assert vec.buffers.terminated.all() and not vec.buffers.truncated.any()
        assert all(episode.terminated for episode in episodes)


@both_backends
def test_p06_acts_from_the_reset_and_learns_from_the_final_observation(backend):
    with vector(config("Scripted-v0", kwargs={"lengths": [2]}), backend) as vec:
        vec.reset([7, 8, 9])
        vec.step(zeros(vec))
        vec.step(zeros(vec))
        assert vec.buffers.obs["obs"][:, 1:].tolist() == [[1, 0, -1]] * 3
        assert vec.buffers.final_obs["obs"][:, 1:].tolist() == [[0, 2, 0]] * 3


def test_p07_manual_reset_right_after_an_end_is_followed_by_a_real_step():
    """tests/conformance asks the same of every back-end."""
    backends.check_manual_reset(lambda env, count: vector(env, "sync", count))


@both_backends
def test_p08_ten_episodes_of_three_steps_have_length_three(backend):
    with vector(config("Scripted-v0", kwargs={"lengths": [3]}), backend, count=2) as vec:
        vec.reset([1, 2])
        episodes = play(vec, 30)
    assert [episode.length for episode in episodes] == [3] * 20
    scores = [episode.score for episode in episodes if episode.env == 0]
    assert scores == [3 * 100 * number + 1 + 2 + 3 for number in range(10)]


@both_backends
def test_p09_a_truncated_episode_appears_once_with_its_length(backend):
    with vector(config("Constant-v0", time_limit=5), backend, count=1) as vec:
        vec.reset([1])
        episodes = play(vec, 10)
    assert [(e.length, e.score, e.terminated) for e in episodes] == [(5, 5.0, False)] * 2


@pytest.mark.parametrize("nested", [False, True])
def test_p10_stored_observations_survive_a_careless_environment(nested):
    """Copied at the boundary, nested ones too; the stack of frames holds copies as well."""
    kwargs = {"lengths": [3], "reuses_array": True, "nested": nested}
    with vector(config("Scripted-v0", kwargs=kwargs), count=1) as vec:
        leaf = "numbers" if nested else "obs"
        vec.reset([5])
        steps = []
        for _ in range(3):
            vec.step(zeros(vec))
            steps.append(vec.buffers.obs[leaf][0, 2])
        assert steps == [1, 2, 0]
        assert vec.buffers.final_obs[leaf][0, 2] == 3, "the reset must not reach into final_obs"
        if nested:
            assert (vec.buffers.final_obs["pair/0"][0] == 3).all()


def test_p10_stacked_frames_are_copies():
    env = wrapped("Picture-v0", {"name": "frame_stack", "count": 2}, kwargs={"shape": [4, 4]})
    first, _ = env.reset()
    second, *_ = env.step(0)
    assert np.unique(first).tolist() == [5]
    assert np.unique(second[..., 0]).tolist() == [5] and np.unique(second[..., 1]).tolist() == [15]


@pytest.mark.parametrize("frames", [1, 4])
def test_p16_the_score_is_what_the_game_paid(frames):
    """Seven per raw step: 7n of score, whatever the learner is paid and however it decides."""
    clip = {
        "name": "gymnasium",
        "wrapper": "ClipReward",
        "kwargs": {"min_reward": -1, "max_reward": 1},
    }
    env = config(
        "Constant-v0",
        kwargs={"reward": 7.0, "length": 12},
        wrappers=[{"name": "frame_skip", "skip": frames}, clip],
    )
    with vector(env, count=1) as vec:
        vec.reset([1])
        (episode,) = play(vec, 12 // frames)
    assert episode.score == 7 * 12
    assert episode.reward == episode.length == 12 // frames


@both_backends
def test_p24_the_final_stack_holds_the_last_frames(backend):
    env = config(
        "Scripted-v0",
        kwargs={"lengths": [5], "ends": ["truncated"]},
        wrappers=[{"name": "frame_stack", "count": 3}],
    )
    with vector(env, backend, count=1) as vec:
        start = vec.reset([1]).obs["obs"][0].reshape(3, 4)
        assert start[:, 2].tolist() == [0, 0, 0]
        for _ in range(5):
            vec.step(zeros(vec))
        final = vec.buffers.final_obs["obs"][0].reshape(3, 4)
        assert final[:, 2].tolist() == [3, 4, 5]
        fresh = vec.buffers.obs["obs"][0].reshape(3, 4)
        assert fresh[:, 1:3].tolist() == [[1, 0]] * 3, "no frame of the old episode is left"


@both_backends
def test_p32_a_mask_without_a_valid_action_raises(backend):
    with vector(config("Masked-v0", kwargs={"at": 2}, restarts=0), backend) as vec:
        vec.reset([1, 2, 3])
        vec.step(zeros(vec))
        with pytest.raises(EnvError, match="leaves no valid action"):
            vec.step(zeros(vec))


def test_p36_copies_differ_runs_repeat_and_streams_continue():
    """tests/conformance asks the same of every back-end."""
    backends.check_seeding(lambda env, count: vector(env, "sync", count))


def test_p36_seeds_are_distinct_and_independent_of_how_many():
    many = seeding.integers(1, "envs", 500)
    assert len(set(many)) == 500
    assert seeding.integers(1, "envs", 3) == many[:3]
    assert set(many).isdisjoint(seeding.integers(1, "eval", 500))


def test_p39_workers_run_one_thread_each():
    with vector(config("CartPole-v1"), "process", workers=2) as vec:
        assert vec.threads() == [1, 1]
