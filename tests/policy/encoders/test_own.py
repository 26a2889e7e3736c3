"""An encoder of one's own, with settings of its own."""

import sys

import pytest
import torch

from spotter.config import resolve
from spotter.policy.encoding import make
from spotter.types import Leaf, UserError

STRIPES = """
    from torch import nn

    from spotter.config import EncoderConfig


    class Config(EncoderConfig):
        width: int = 4


    def build(shape, policy, config):
        channels, height, _ = shape
        conv = nn.Conv2d(channels, config.width, (height, 1))
        return nn.Sequential(conv, nn.ReLU(), nn.Flatten())
"""
IMAGE = Leaf("image", (3, 10, 10), "uint8")


@pytest.fixture(autouse=True)
def stripes(folder, monkeypatch):
    monkeypatch.syspath_prepend(".")
    folder("stripes.py", STRIPES)
    yield
    sys.modules.pop("stripes", None)


@pytest.mark.parametrize(
    ("written", "saved", "width"),
    [
        ("stripes", "stripes", 4),
        ({"name": "stripes"}, {"name": "stripes", "width": 4}, 4),
        ({"name": "stripes", "width": 7}, {"name": "stripes", "width": 7}, 7),
    ],
)
def test_a_name_or_a_map_with_settings(written, saved, width):
    config = resolve("CartPole-v1", {"policy.encoder": written}).config
    assert config.as_data()["policy"]["encoder"] == saved
    features = make(IMAGE, config.policy)(torch.zeros(2, *IMAGE.shape))
    assert features.shape == (2, width * 10)


def test_its_settings_are_checked():
    with pytest.raises(UserError, match=r"policy.encoder.widht is not a setting; did you mean"):
        resolve("CartPole-v1", {"policy.encoder": {"name": "stripes", "widht": 7}})
    with pytest.raises(UserError, match=r"policy.encoder.width should be a whole number"):
        resolve("CartPole-v1", {"policy.encoder": {"name": "stripes", "width": "wide"}})
    changed = ["policy.encoder={name: stripes}", "policy.encoder.width=9"]
    assert resolve("CartPole-v1", changed).config.policy.encoder.width == 9


def test_an_encoder_of_ours_has_no_settings():
    config = resolve("CartPole-v1", {"policy.encoder": {"name": "small_cnn"}}).config
    assert make(IMAGE, config.policy)(torch.zeros(2, *IMAGE.shape)).shape == (2, 16 * 8 * 8)
    with pytest.raises(UserError, match=r"policy.encoder.filters is not a setting"):
        resolve("CartPole-v1", {"policy.encoder": {"name": "small_cnn", "filters": 7}})
