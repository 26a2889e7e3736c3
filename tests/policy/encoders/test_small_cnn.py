"""The encoder for boards: picked for small pictures, sees every cell, learns."""

import pytest
import torch

from spotter.config import PolicyConfig
from spotter.policy.actor_critic import Policy
from spotter.policy.encoders import small_cnn
from spotter.types import ActionSpec, Leaf, Spaces, UserError


def policy(shape, **config):
    spaces = Spaces({"obs": Leaf("image", shape, "uint8")}, ActionSpec("discrete", (), (2,)))
    return Policy(spaces, PolicyConfig(hidden=(32,), **config))


@pytest.mark.parametrize(
    ("side", "convolutions"), [(2, 0), (3, 1), (10, 1), (15, 1), (16, 15), (35, 15), (36, 3)]
)
def test_auto_picks_by_size(side, convolutions):
    network = policy((4, side, side + 5))
    found = [layer for layer in network.modules() if isinstance(layer, torch.nn.Conv2d)]
    assert len(found) == convolutions


def test_too_small_is_one_sentence():
    with pytest.raises(UserError, match="small_cnn needs images of at least 3×3, got 9×2; use mlp"):
        small_cnn.build((1, 9, 2), PolicyConfig())


def test_every_cell_matters():
    torch.manual_seed(0)
    encoder = small_cnn.build((3, 10, 10), PolicyConfig(activation="tanh"))
    board = torch.randn(1, 3, 10, 10, requires_grad=True)
    encoder(board).square().sum().backward()
    assert (board.grad != 0).all()
    assert encoder(board).shape == (1, 16 * 8 * 8)


def test_it_learns_where_a_thing_is():
    """Left or right of another thing, wherever both are."""
    torch.manual_seed(0)
    network = policy((2, 10, 10))
    boards = torch.zeros(160, 2, 10, 10, dtype=torch.uint8)
    rows = torch.arange(160)
    places, sides = rows // 2 % 80, rows % 2
    y, x = places // 8, 1 + places % 8
    boards[rows, 0, y, x] = boards[rows, 1, y, x - 1 + 2 * sides] = 255
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    for _ in range(25):
        loss = -network.evaluate({"obs": boards}, sides).log_prob.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
