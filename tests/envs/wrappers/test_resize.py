import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotter.envs.wrappers.resize import area_weights
from spotter.types import UserError
from tests.envs.helpers import wrapped


def resized(image, height, width):
    env = wrapped(
        "Picture-v0",
        {"name": "resize", "height": height, "width": width},
        kwargs={"shape": list(image.shape)},
    )
    assert env.observation_space.shape == (height, width, *image.shape[2:])
    out = env.observation(image)
    assert env.observation_space.contains(out)
    return out


def test_halving_averages_blocks():
    image = np.array([[0, 100, 10, 10], [100, 200, 20, 20]], np.uint8)
    assert resized(image, 1, 2).tolist() == [[100, 15]]


def test_a_new_pixel_over_parts_of_old_ones_weighs_them_by_area():
    image = np.array([[0, 90, 180]], np.uint8)
    assert resized(image, 1, 2).tolist() == [[30, 150]]


def test_enlarging_gives_blocks():
    image = np.array([[10, 200]], np.uint8)
    assert resized(image, 2, 4).tolist() == [[10, 10, 200, 200]] * 2
    assert resized(image, 1, 3).tolist() == [[10, 105, 200]]


def test_colours_stay_apart_and_axes_in_place():
    image = np.zeros((4, 6, 3), np.uint8)
    image[:2, :, 0], image[:, 3:, 1], image[..., 2] = 100, 60, 7
    out = resized(image, 2, 2)
    assert out[..., 0].tolist() == [[100, 100], [0, 0]]
    assert out[..., 1].tolist() == [[0, 60], [0, 60]]
    assert (out[..., 2] == 7).all()


def test_same_size_is_the_same_image():
    image = np.random.default_rng(0).integers(0, 256, (9, 7, 3)).astype(np.uint8)
    assert (resized(image, 9, 7) == image).all()


@given(st.integers(1, 64), st.integers(1, 64))
def test_weights_share_every_pixel_out_completely(old, new):
    weights = area_weights(old, new)
    assert weights.shape == (new, old) and (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(weights.sum(axis=0), new / old, rtol=1e-4)


@pytest.mark.parametrize("kwargs", [{"shape": [3, 8, 6]}, {"shape": [8, 6], "dtype": "float32"}])
def test_other_images_are_refused(kwargs):
    with pytest.raises(UserError, match="resize needs uint8 images"):
        wrapped("Picture-v0", {"name": "resize"}, kwargs=kwargs)


def test_vectors_are_refused():
    with pytest.raises(UserError, match="resize needs uint8 images"):
        wrapped("CartPole-v1", {"name": "resize"})
