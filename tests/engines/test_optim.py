"""The flat optimizer against torch's own."""

import subprocess
import sys

import pytest
import torch

from spotter.algos.ppo import Config
from spotter.config import PolicyConfig
from spotter.engines.optim import Optimizer
from spotter.policy.actor_critic import Policy
from spotter.types import ActionSpec, Leaf, Progress, Spaces

START = Progress(0, 100)
SPACES = Spaces({"obs": Leaf("vector", (4,), "float32")}, ActionSpec("box", (2,)))
THEIRS = {
    "sgd": lambda params: torch.optim.SGD(params),
    "rmsprop": lambda params: torch.optim.RMSprop(params, alpha=0.99, eps=1e-5),
    "adam": lambda params: torch.optim.Adam(params, eps=1e-5),
    "adamw": lambda params: torch.optim.AdamW(params, eps=1e-5, weight_decay=0.01),
}


def policy(shared):
    torch.manual_seed(3)
    return Policy(SPACES, PolicyConfig(hidden=(16,), shared=shared))


def loss(of, seed):
    draw = torch.Generator().manual_seed(seed)
    obs = torch.randn(32, 4, generator=draw)
    action = torch.randn(32, 2, generator=draw)
    now = of.evaluate({"obs": obs}, action)
    return (now.value - obs[:, 1]).square().mean() - now.log_prob.mean()


@pytest.mark.parametrize("name", THEIRS)
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("critic_lr", [None, 0.02])
@pytest.mark.parametrize("max_grad_norm", [0.5, None])
def test_a_hundred_steps_agree_with_torch(name, shared, critic_lr, max_grad_norm):
    lr = 1e-2
    ours, theirs = policy(shared), policy(shared)
    config = Config(optimizer=name, lr=lr, critic_lr=critic_lr, max_grad_norm=max_grad_norm)
    optimizer = Optimizer(ours, config)
    optimizer.set_rates(START)
    critic = theirs.critic_parameters()
    rest = [p for p in theirs.parameters() if all(p is not c for c in critic)]
    reference = THEIRS[name](
        [{"params": rest, "lr": lr}, {"params": critic, "lr": critic_lr or lr}]
    )
    for step in range(100):
        norm = optimizer.step(loss(ours, step), START)
        reference.zero_grad()
        loss(theirs, step).backward()
        most = float("inf") if max_grad_norm is None else max_grad_norm
        expected = torch.nn.utils.clip_grad_norm_(theirs.parameters(), most)
        reference.step()
        if step < 3:
            torch.testing.assert_close(norm, expected, rtol=1e-4, atol=1e-6)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=2e-3, atol=2e-4)


def test_parameters_stay_views_of_one_vector():
    made = policy(shared=False)
    optimizer = Optimizer(made, Config())
    optimizer.set_rates(START)
    optimizer.step(loss(made, 0), START)
    with torch.no_grad():
        optimizer.flat.zero_()
    assert all(p.abs().sum() == 0 for p in made.parameters())
    assert sum(p.numel() for p in made.parameters()) == optimizer.flat.numel()


def test_training_does_not_load_the_compiler():
    """It would add seconds to every start."""
    script = (
        "import sys\n"
        "from spotter.config import resolve\n"
        "from spotter.training import Training\n"
        "with Training(resolve('CartPole-v1:ppo').config) as training:\n"
        "    training.step()\n"
        "print('torch._dynamo' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
