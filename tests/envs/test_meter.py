"""Numbers an environment puts into `info`, over one episode."""

import numpy as np

from spotter.envs.meter import GAME_GOES_ON, Tally
from tests.envs.helpers import both_backends, config, vector, zeros


@both_backends
def test_every_number_in_info_is_aggregated(backend):
    with vector(config("Informed-v0"), backend, count=2) as vec:
        vec.reset([1, 2])
        episodes = [episode for _ in range(6) for episode in vec.step(zeros(vec))]
    assert [episode.env for episode in episodes] == [0, 1, 0, 1]
    for episode in episodes:  # the second episode of a copy knows nothing of its first
        assert episode.info == {
            "step/mean": 2.0,
            "step/last": 3.0,
            "half/mean": 1.0,
            "half/last": 1.5,
            "is_late/mean": 2 / 3,
            "is_late/last": 1.0,
            "flag/mean": 1.0,
            "flag/last": 1.0,
            "bonus/mean": 20.0,  # over the two steps that had one
            "bonus/last": 30.0,
        }
        assert {type(value) for value in episode.info.values()} == {float}


def test_an_environment_without_info_has_none():
    with vector(config("CartPole-v1"), count=1) as vec:
        vec.reset([1])
        episodes = [episode for _ in range(30) for episode in vec.step(zeros(vec))]
    assert episodes and all(episode.info == {} for episode in episodes)


def test_taxi_tells_the_probability_of_each_step_and_no_mask():
    with vector(config("Taxi-v4", time_limit=2), count=1) as vec:
        vec.reset([1])
        mask = vec.buffers.mask
        (episode,) = [e for _ in range(2) for e in vec.step(np.array([mask[0].argmax()]))]
    assert set(episode.info) == {"prob/mean", "prob/last"}


def test_a_message_to_us_is_no_number():
    tally = Tally()
    tally.add({GAME_GOES_ON: True, "lives": 2})
    assert tally.numbers() == {"lives/mean": 2.0, "lives/last": 2.0}
    tally.clear()
    assert tally.numbers() == {}
