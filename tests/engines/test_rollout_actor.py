"""Acting for rollouts: a CUDA graph draws what plain acting draws."""

import pytest
import torch

from spotter.engines.rollout_actor import TorchRolloutActor
from spotter.policy.actor_critic import Policy
from spotter.rollouts.images import Stacks
from spotter.types import ActionSpec, Leaf, Spaces

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")


@on_gpu
def test_recorded_acting_draws_what_plain_acting_draws(make_config):
    gpu = torch.device("cuda")
    spaces = Spaces({"obs": Leaf("image", (4, 40, 40), "uint8")}, ActionSpec("discrete", (), (4,)))
    config = make_config("CartPole-v1", policy={"policy_gain": 1.0})
    policy = Policy(spaces, config.policy).to(gpu)
    images = torch.randint(0, 256, (64, 1600), dtype=torch.uint8, device=gpu)
    places = torch.randint(0, 64, (32, 4), device=gpu)
    stacks = Stacks(images, places, (4, 40, 40))
    stream = torch.Generator(device=gpu).manual_seed(3)
    plain = torch.Generator(device=gpu).manual_seed(3)
    actor = TorchRolloutActor(policy, stream)
    for _ in range(12):
        images.copy_(torch.randint(0, 256, images.shape, dtype=torch.uint8))
        got = actor.act({"obs": stacks}, None, (), slice(0, 32))
        wanted = policy.act({"obs": stacks[:]}, generator=plain)
        assert torch.equal(got.action, wanted.action)
        torch.testing.assert_close(got.log_prob, wanted.log_prob)
        torch.testing.assert_close(got.value, wanted.value)
    assert torch.equal(stream.get_state(), plain.get_state()), "a checkpoint holds this stream"
