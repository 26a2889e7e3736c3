import math

import numpy as np
import pytest

from spotter.types import UserError
from tests.envs.helpers import config, signal_vector

CARS = ("MountainCar-v0", "MountainCarContinuous-v0")
VALLEY = -math.pi / 6


def potential(car, position, velocity, **fields):
    with signal_vector(config(car), source="mountain_car", **fields) as vec:
        assert vec.signal_kinds == ("potential",)
        return (
            vec._slices[0].instances[0].meter.signals[0].start(np.array([position, velocity]), {})
        )


@pytest.mark.parametrize("car", CARS)
def test_energy_goes_from_the_valley_to_the_flag(car):
    goal = 0.5 if car == "MountainCar-v0" else 0.45
    assert potential(car, VALLEY, 0) == pytest.approx(0, abs=1e-9)
    assert potential(car, goal, 0) == pytest.approx(1)
    assert potential(car, VALLEY, 0.07) == 1, "enough speed to get there counts as being there"
    assert potential(car, VALLEY, 0.02) == pytest.approx(potential(car, VALLEY, -0.02))
    assert 0 < potential(car, VALLEY, 0.02) < potential(car, VALLEY, 0.04) < 1


def test_height_does_not_count_speed():
    assert potential(CARS[0], VALLEY, 0.05, measure="height") == pytest.approx(0, abs=1e-9)
    assert potential(CARS[0], 0.5, 0.0, measure="height") == pytest.approx(1)


def test_coasting_hardly_changes_it():
    """It is the energy of these very dynamics: without thrust, only the coarse steps leak."""
    with signal_vector(config(CARS[0]), source="mountain_car") as vec:
        vec.reset([1])
        start = vec.buffers.signals_start[0, 0]
        for _ in range(100):
            vec.step(np.array([1]))
            assert vec.buffers.signals[0, 0] == pytest.approx(start, abs=0.02)


def test_pushing_with_the_motion_raises_it_to_the_top():
    with signal_vector(config(CARS[0]), source="mountain_car") as vec:
        vec.reset([1])
        seen = [vec.buffers.signals_start[0, 0]]
        for _ in range(199):
            vec.step(np.array([2 if vec.buffers.obs["obs"][0, 1] >= 0 else 0]))
            seen.append(vec.buffers.signals[0, 0])
            if vec.buffers.terminated[0]:
                break
    assert vec.buffers.terminated[0] and seen[-1] > 0.99 and seen[0] < 0.1


def test_other_games_are_refused():
    with pytest.raises(UserError, match="for MountainCar only, and this is CartPoleEnv"):
        signal_vector(config("CartPole-v1"), source="mountain_car")
