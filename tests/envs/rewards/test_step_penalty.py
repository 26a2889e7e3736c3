from tests.envs.helpers import config, signal_vector, zeros


def test_every_raw_step_beyond_the_free_ones_costs_one():
    env = config("Constant-v0", kwargs={"length": 6}, wrappers=[{"name": "frame_skip", "skip": 2}])
    with signal_vector(env, source="step_penalty", after=3) as vec:
        vec.reset([1])
        paid = []
        for _ in range(6):
            vec.step(zeros(vec))
            paid.append(vec.buffers.signals[0, 0])
    assert paid == [0, -1, -2] * 2, "frames of one decision add up, and a new episode starts afresh"


def test_no_step_is_free_unless_said_so():
    with signal_vector(config("Constant-v0"), source="step_penalty") as vec:
        vec.reset([1])
        vec.step(zeros(vec))
        assert vec.buffers.signals[0, 0] == -1
