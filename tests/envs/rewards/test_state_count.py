from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium import spaces as gs

from spotter.envs.rewards import state_count
from spotter.types import UserError
from tests.envs.helpers import config, signal_vector, zeros


def cells(env_id, observations, **fields):
    with signal_vector(config(env_id), source="state_count", **fields) as vec:
        assert vec.signal_kinds == ("cell",)
        signal = vec._slices[0].instances[0].meter.signals[0]
        return [signal.step(np.array(obs), 0, 0.0, {}) for obs in observations]


def test_a_box_is_cut_into_bins():
    """MountainCar: position -1.2 to 0.6 in 3 bins of 0.6, velocity -0.07 to 0.07 in 2."""
    corners = [[-1.2, -0.07], [-0.5, -0.01], [0.6, -0.01], [-1.2, 0.01], [0.6, 0.07]]
    assert cells("MountainCar-v0", corners, bins=[3, 2]) == [0, 1, 2, 3, 5]


def test_what_lies_outside_belongs_to_the_outermost_bin():
    assert cells("MountainCar-v0", [[-9, -9], [9, 9], [np.inf, 9]], bins=2) == [0, 3, 3]


def test_every_cell_has_its_own_number():
    grid = [[x, v] for x in np.linspace(-1.1, 0.5, 5) for v in np.linspace(-0.06, 0.06, 4)]
    assert len(set(cells("MountainCar-v0", grid, bins=[5, 4]))) == 20


def test_bounds_can_be_given_where_the_space_has_none():
    low, high = [None, -2, None, -2], [None, 2, None, 2]
    seen = cells("CartPole-v1", [[0.1, -1, 0.1, 1]], bins=2, low=low, high=high)
    assert seen == [0b1101]


def test_a_discrete_observation_is_its_own_cell():
    with signal_vector(config("FrozenLake-v1"), source="state_count") as vec:
        vec.reset([1])
        assert vec.buffers.signals_start[0, 0] == 0
        for _ in range(20):
            vec.step(zeros(vec) + 1)
            ended = vec.buffers.terminated[0]
            obs = vec.buffers.final_obs["obs"] if ended else vec.buffers.obs["obs"]
            assert vec.buffers.signals[0, 0] == obs[0]


@pytest.mark.parametrize(
    ("env_id", "fields", "sentence"),
    [
        ("CartPole-v1", {}, "dimension 1 of the observation is unbounded; give `low`"),
        ("MountainCar-v0", {"bins": [3]}, "bins has 1 entries, but the observation has 2"),
        ("MountainCar-v0", {"low": [0]}, "low has 1 entries, but the observation has 2"),
        ("MountainCar-v0", {"low": [1, None]}, "low 1 is not below high 0.6 in dimension 0"),
        ("CartPole-v1", {"leaves": ["image"]}, "`leaves` needs a Dict observation"),
        ("Blackjack-v1", {}, "needs a Box, Discrete or Dict observation"),
    ],
)
def test_nonsense_is_refused(env_id, fields, sentence):
    with pytest.raises(UserError, match=sentence):
        signal_vector(config(env_id, "gymnasium"), source="state_count", **fields)


def signal_of(space, **fields):
    chosen = state_count.Config(source="state_count", **fields)
    return state_count.make(chosen, SimpleNamespace(observation_space=space))


TILES = gs.Dict(
    image=gs.Box(0, 255, (7, 7, 3), np.uint8),
    direction=gs.Discrete(4),
    speed=gs.Box(-np.inf, np.inf, (1,)),
    mission=gs.Text(20),
)


def test_whole_numbers_count_as_they_are_also_in_a_dict():
    signal = signal_of(TILES, leaves=["image", "direction", "mission"])
    obs = TILES.sample()
    other = {**obs, "image": obs["image"].copy()}
    other["image"][3, 3, 0] ^= 1
    turned = {**obs, "direction": (obs["direction"] + 1) % 4}
    fast = {**obs, "speed": obs["speed"] + 1}
    assert signal.start(obs, {}) == signal.start(fast, {}), "speed is left out"
    assert len({signal.start(each, {}) for each in (obs, other, turned)}) == 3


def test_more_cells_than_numbers_are_hashed_into_whole_numbers():
    signal = signal_of(gs.Box(0.0, 1.0, (60,)), bins=2)
    space = np.random.default_rng(1)
    seen = [space.random(60) for _ in range(500)]
    cells = [signal.start(obs, {}) for obs in seen]
    assert len(set(cells)) == 500
    assert all(cell == int(cell) < 2**53 for cell in cells)
    assert signal.start(np.where(seen[0] < 0.5, 0.1, 0.9), {}) == cells[0], "the same slices"


def test_bins_make_the_colours_of_an_image_coarser():
    image = gs.Box(0, 255, (8, 8, 3), np.uint8)
    dark, darker = np.full((8, 8, 3), 3, np.uint8), np.full((8, 8, 3), 2, np.uint8)
    exact, coarse = signal_of(image), signal_of(image, bins=4)
    assert exact.start(dark, {}) != exact.start(darker, {})
    assert coarse.start(dark, {}) == coarse.start(darker, {})


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "dimension 0 of entry 'speed' is unbounded; leave it out with `leaves`"),
        ({"leaves": ["imag"]}, "has no 'imag'; did you mean 'image'"),
        ({"leaves": ["image"], "bins": [3]}, "are for one Box"),
    ],
)
def test_nonsense_about_a_dict_is_refused(fields, sentence):
    with pytest.raises(UserError, match=sentence):
        signal_of(TILES, **fields)
