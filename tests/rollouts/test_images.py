"""Images kept once give the very stacks that were written."""

import functools

import numpy as np
import pytest
import torch

from spotter.rollouts.images import History
from spotter.types import Leaf, Progress

CPU = torch.device("cpu")
HERE = [CPU, *([torch.device("cuda")] if torch.cuda.is_available() else [])]


class Game:
    """Random pictures; each copy's stack begins anew now and then, in one of several ways."""

    def __init__(self, count, channels, depth, size, seed, ends=0.2):
        self.rng = np.random.default_rng(seed)
        self.count, self.ends = count, ends
        self.stack = np.zeros((count, depth * channels, *size), np.uint8)
        self.channels = channels
        self.begun = np.ones(count, bool)
        for row in range(count):
            self._begin(row)

    def _image(self):
        return self.rng.integers(0, 256, (self.channels, *self.stack.shape[2:]), np.uint8)

    def _begin(self, row):
        depth = self.stack.shape[1] // self.channels
        first = self._image()
        kind = self.rng.integers(3)
        older = {0: lambda: np.zeros_like(first), 1: lambda: first, 2: self._image}[int(kind)]
        self.stack[row] = np.concatenate([*(older() for _ in range(depth - 1)), first])

    def step(self):
        self.begun = self.rng.random(self.count) < self.ends
        for row in range(self.count):
            if self.begun[row]:
                self._begin(row)
            else:
                kept = self.stack[row, self.channels :]
                self.stack[row] = np.concatenate([kept, self._image()])


def play(game, history, steps, halves=1):
    """What plain storage would hold."""
    stored = np.zeros((steps, *game.stack.shape), np.uint8)
    history.restart()
    size = game.count // halves
    for t in range(steps):
        begun = np.ones(game.count, bool) if t == 0 else game.begun
        for first in range(0, game.count, size):
            rows = slice(first, first + size)
            history.write(t, game.stack[rows], begun[rows], first)
            assert np.array_equal(history.now(rows)[:].cpu().numpy(), game.stack[rows])
            if torch.cuda.is_available():
                torch.cuda.synchronize()
        stored[t] = game.stack
        game.step()
    return torch.from_numpy(stored)


@pytest.mark.parametrize("device", HERE, ids=str)
@pytest.mark.parametrize("halves", [1, 2])
@pytest.mark.parametrize(("channels", "depth", "size"), [(1, 4, (12, 8)), (3, 2, (5, 5))])
def test_equals_plain_storage(device, halves, channels, depth, size):
    game = Game(6, channels, depth, size, seed=3)
    history = History(Leaf("image", game.stack.shape[1:], "uint8"), depth, 20, 6, device)
    for _ in range(2):  # the second rollout goes over the first one's memory
        stored = play(game, history, 20, halves)
        for t in range(20):
            assert torch.equal(history.stacks[t].cpu(), stored[t])
        flat = history.stacks.flatten()
        order = torch.randperm(120)
        assert torch.equal(flat[order.to(device)].cpu(), stored.flatten(0, 1)[order])
        assert torch.equal(flat[::7].cpu(), stored.flatten(0, 1)[::7])
        keep = torch.tensor([3, 5, 8, 119])
        kept = history.stacks.flatten(keep.to(device))
        assert torch.equal(kept[:].cpu(), stored.flatten(0, 1)[keep])


def test_many_beginnings_make_the_pool_grow():
    game = Game(4, 1, 4, (8, 8), seed=1, ends=1.0)
    history = History(Leaf("image", (4, 8, 8), "uint8"), 4, 16, 4, CPU)
    before = history.stacks.addresses
    stored = play(game, history, 16)
    assert history.stacks.addresses != before
    assert torch.equal(history.stacks.flatten()[:], stored.flatten(0, 1))


def test_a_view_and_more_room_keep_what_is_written():
    game = Game(3, 1, 4, (8, 8), seed=2)
    history = History(Leaf("image", (4, 8, 8), "uint8"), 4, 8, 3, CPU)
    stored = play(game, history, 8)
    larger = history.grown(16)
    begun = game.begun
    larger.write(8, game.stack, begun)
    assert torch.equal(larger.first(8).stacks.flatten()[:], stored.flatten(0, 1))
    assert torch.equal(larger.stacks[8], torch.from_numpy(game.stack))
    assert history.first(5).stacks.flatten()[:].shape[0] == 15


def test_memory_is_near_a_quarter_of_plain_storage():
    history = History(Leaf("image", (4, 84, 84), "uint8"), 4, 128, 8, CPU)
    assert history.nbytes < 0.3 * 128 * 8 * 4 * 84 * 84


@pytest.mark.parametrize("halves", [1, 2])
def test_a_collector_that_keeps_images_once_sees_the_same(make_config, halves):
    pytest.importorskip("ale_py")
    from spotter.collect.collector import Collector
    from spotter.collect.rewards import RewardMixer
    from spotter.engines import rollout_actor
    from spotter.envs.backends.native import NativeVector
    from spotter.policy.actor_critic import Policy

    config = make_config(
        "ALE/Breakout-v5", env={"family": "atari", "time_limit": 6}, policy={"hidden": [8]}
    )
    found = []
    for once in (True, False):
        with NativeVector(config.env, config.reward, 2, halves=halves) as vector:
            if not once:
                vector.depths = {}
            torch.manual_seed(0)
            actor = rollout_actor.make(Policy(vector.spaces, config.policy), 3)
            mixer = RewardMixer(config.reward, (), 2)
            collector = Collector(vector, actor, mixer, config.algo.gamma, [1, 2])
            for _ in range(2):  # episodes end within a rollout and run on into the next
                rollout = collector.collect(9, Progress(0, None))
                batch = rollout.flatten(rollout.next_value, rollout.reward)
                # in parts, which are copies: the next rollout goes over this one's memory
                found += [(once, batch.select(torch.arange(k, k + 9))) for k in (0, 9)]
        assert rollout.episode_end.any()
    kept, plain = ([batch for how, batch in found if how is once] for once in (True, False))
    for ours, theirs in zip(kept, plain, strict=True):
        assert torch.equal(ours.obs["obs"], theirs.obs["obs"])
        for name in ("action", "log_prob", "value", "advantage", "target"):
            assert torch.equal(getattr(ours, name), getattr(theirs, name)), name


@pytest.mark.parametrize(
    ("channels", "size", "kernel", "stride"), [(4, 84, 8, 4), (3, 40, 8, 4), (2, 12, 4, 2)]
)
@pytest.mark.parametrize("channels_last", [True, False])
def test_folded_convolution_equals_the_strided_one(channels, size, kernel, stride, channels_last):
    from spotter.policy.encoders.nature_cnn import folded, folded_across

    torch.manual_seed(0)
    x = torch.randn(3, channels, size, size, dtype=torch.float64, requires_grad=True)
    if channels_last:
        x = x.detach().to(memory_format=torch.channels_last).requires_grad_()
    weight = torch.randn(7, channels, kernel, kernel, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(7, dtype=torch.float64, requires_grad=True)
    expected = torch.nn.functional.conv2d(x, weight, bias, stride)
    slopes = torch.autograd.grad(expected.square().sum(), (x, weight, bias))
    for fold in (folded, folded_across):
        found = fold(x, weight, bias, stride)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(
            torch.autograd.grad(found.square().sum(), (x, weight, bias)), slopes
        )


def test_folding_a_row_of_channels_last_images_copies_nothing():
    from spotter.policy.encoders.nature_cnn import across

    x = torch.rand(2, 4, 84, 84).to(memory_format=torch.channels_last)
    wide = across(x, 4)
    assert wide.shape == (2, 16, 84, 21) and wide.data_ptr() == x.data_ptr()
    assert wide.is_contiguous(memory_format=torch.channels_last)


def test_a_network_of_folded_convolutions_learns_the_same():
    """Parameters after some updates, against plain convolutions and activations."""
    from spotter.config import PolicyConfig
    from spotter.policy.encoders import nature_cnn

    def learnt(plain):
        torch.manual_seed(0)
        net = nature_cnn.build((4, 84, 84), PolicyConfig()).double()
        for layer in net:
            if plain and isinstance(layer, nature_cnn.FoldedConv):
                layer.forward = functools.partial(torch.nn.Conv2d.forward, layer)
            elif plain and isinstance(layer, torch.nn.ReLU):
                layer.inplace = False
        for _ in range(5):
            x = torch.rand(4, 4, 84, 84, dtype=torch.float64)
            y = net(x.to(memory_format=torch.channels_last))
            slopes = torch.autograd.grad((y - 1).square().mean(), list(net.parameters()))
            for parameter, slope in zip(net.parameters(), slopes, strict=True):
                parameter.data -= 0.1 * slope
        return torch.cat([parameter.flatten() for parameter in net.parameters()])

    torch.testing.assert_close(learnt(plain=False), learnt(plain=True))


@pytest.mark.parametrize(
    "algo",
    [{"name": "ppo", "minibatch": 4}, {"name": "ppo", "minibatch": 1.0}, {"name": "a2c"}],
    ids=["minibatches", "one batch", "a2c"],
)
def test_algorithms_learn_from_images_kept_once(make_config, algo):
    pytest.importorskip("ale_py")
    from spotter.training.training import Training

    config = make_config(
        "ALE/Pong-v5",
        {**algo, "steps": 4},
        env={"family": "atari", "count": 2, "backend": "native"},
        policy={"hidden": [8]},
    )
    with Training(config) as training:
        before = training.algorithm.optimizer.flat.clone()
        metrics = training.step().metrics
        assert isinstance(training.last.obs["obs"], History)
        assert not torch.equal(training.algorithm.optimizer.flat, before)
        assert np.isfinite(list(metrics.values())).all()
