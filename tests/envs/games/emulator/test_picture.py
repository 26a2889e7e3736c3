"""From a screen to what a policy sees."""

import numpy as np
import pytest

from spotter.envs.games.emulator.picture import Look

pytest.importorskip("cv2")


@pytest.fixture
def screen():
    """A NES screen: a bright HUD above, red to the left, green to the right."""
    screen = np.zeros((224, 240, 3), np.uint8)
    screen[32:, :120, 0] = 200
    screen[32:, 120:, 1] = 100
    screen[:32] = 255
    return screen


def test_grey_is_brightness_and_small(screen):
    picture = Look().take(screen)
    assert picture.shape == (1, 84, 84) == Look().shape((224, 240)) and picture.dtype == np.uint8
    assert picture[0, 60, 10] == round(0.299 * 200) and picture[0, 60, 70] == round(0.587 * 100)


def test_colour_without_resizing(screen):
    look = Look(grey=False, size=None)
    picture = look.take(screen)
    assert picture.shape == (3, 224, 240) == look.shape((224, 240))
    assert picture[:, 100, 10].tolist() == [200, 0, 0]
    assert picture[:, 100, 200].tolist() == [0, 100, 0]


def test_the_hud_is_cut_or_blackened(screen):
    before = screen.copy()
    cut = Look(size=None, crop=(32, 0, 0, 0))
    assert cut.take(screen).shape == (1, 192, 240) == cut.shape((224, 240))
    assert cut.take(screen).max() < 255
    hidden = Look(size=None, hide=(32, 4, 0, 8)).take(screen)
    assert hidden.shape == (1, 224, 240)
    assert not hidden[0, :32].any() and not hidden[0, -4:].any() and not hidden[0, :, -8:].any()
    assert (hidden[0, 32:-4, :-8] == Look(size=None).take(screen)[0, 32:-4, :-8]).all()
    assert (screen == before).all(), "the console's own picture stays whole"


@pytest.mark.parametrize(("size", "rows", "columns"), [((84, 84), 42, 84), ((60, 40), 20, 40)])
def test_letterbox_keeps_proportions(size, rows, columns):
    wide = np.full((100, 200, 3), 200, np.uint8)
    picture = Look(size=size, fit="letterbox").take(wide)[0]
    lit = np.argwhere(picture == 200)
    top, left = lit.min(axis=0)
    bottom, right = lit.max(axis=0)
    assert (bottom - top + 1, right - left + 1) == (rows, columns)
    assert abs(top - (size[0] - 1 - bottom)) <= 1, "in the middle"
    assert len(lit) == rows * columns and picture.shape == size
    assert (Look(size=size).take(wide)[0] == 200).all(), "stretched it fills everything"


def test_a_circle_stays_round_in_a_letterbox():
    rows, columns = np.mgrid[:120, :240]
    disc = (rows - 60) ** 2 + (columns - 120) ** 2 < 50**2
    screen = (disc[..., None] * np.array([255, 255, 255])).astype(np.uint8)
    for fit, ratio in (("letterbox", 1.0), ("stretch", 0.5)):
        lit = Look(fit=fit).take(screen)[0] > 127
        width, height = lit.any(axis=0).sum(), lit.any(axis=1).sum()
        assert width / height == pytest.approx(ratio, abs=0.08)


def test_nothing_left_shows_in_the_shape():
    assert min(Look(crop=(200, 24, 0, 0)).shape((224, 240))) == 0
