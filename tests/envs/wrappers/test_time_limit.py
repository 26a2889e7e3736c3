from tests.envs.helpers import wrapped


def test_truncates_after_that_many_decisions():
    env = wrapped(
        "Constant-v0", {"name": "frame_skip", "skip": 2}, {"name": "time_limit", "steps": 3}
    )
    for _ in range(2):
        env.reset(seed=1)
        ends = [env.step(0)[2:4] for _ in range(3)]
        assert ends == [(False, False), (False, False), (False, True)]


def test_a_true_end_in_the_last_step_is_still_termination():
    env = wrapped("Constant-v0", {"name": "time_limit", "steps": 3}, kwargs={"length": 3})
    env.reset(seed=1)
    assert [env.step(0)[2] for _ in range(3)] == [False, False, True]
