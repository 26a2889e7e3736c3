import numpy as np

from tests.envs.helpers import wrapped


def sticky(probability, **kwargs):
    return wrapped(
        "Buttons-v0", {"name": "sticky_actions", "probability": probability}, kwargs=kwargs
    )


def test_always_sticky_repeats_the_first_action_of_the_episode():
    env = sticky(1.0)
    env.reset(seed=1)
    assert [env.step(action)[0][0] for action in (3, 1, 4)] == [3, 3, 3]
    env.reset()
    assert env.step(2)[0][0] == 2, "reset forgets the previous action"


def test_never_sticky_changes_nothing():
    env = sticky(0.0)
    env.reset(seed=1)
    assert [env.step(action)[0][0] for action in (3, 1, 4)] == [3, 1, 4]


def test_the_share_of_repeats_is_the_probability_and_repeats_with_the_seed():
    env = sticky(0.25)

    def repeats():
        env.reset(seed=5)
        return [env.step(step % 5)[0][0] != step % 5 for step in range(2000)]

    first = repeats()
    assert abs(np.mean(first) - 0.25) < 0.03
    assert repeats() == first


def test_an_action_array_the_caller_reuses_is_remembered_as_it_was():
    env = sticky(1.0, kind="box")
    env.reset(seed=1)
    action = np.array([1.0, 2.0], np.float32)
    env.step(action)
    action[:] = 0
    assert env.step(action)[0].tolist() == [1, 2, 0]
