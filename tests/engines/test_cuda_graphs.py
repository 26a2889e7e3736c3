"""Recorded updates end with the parameters the plain path ends with.

What a recording does is tested everywhere by calling the function again in its place; recording
itself, where there is a GPU.
"""

from dataclasses import replace

import pytest
import torch

from spotter.engines import cuda_graphs
from spotter.engines import functional as F
from spotter.engines.cuda_graphs import Dial, Recording, Updates
from spotter.engines.learner import TorchLearner
from spotter.engines.losses import Objective
from spotter.engines.optim import Optimizer
from spotter.policy.actor_critic import Policy
from spotter.rollouts.rollout import Batch
from spotter.training.training import Training
from spotter.types import ActionSpec, Leaf, Progress, Spaces

CPU = torch.device("cpu")
on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
HERE = [CPU, *([torch.device("cuda")] if torch.cuda.is_available() else [])]
SPACES = Spaces({"obs": Leaf("vector", (5,), "float32")}, ActionSpec("discrete", (), (3,)))
START = Progress(0, None)


class CalledAgain:
    """Stands in for a recording where there is no GPU."""

    def __init__(self, function, generators=()):
        self._function = function

    def __call__(self):
        return self._function()


@pytest.fixture(params=HERE, ids=str)
def device(request, monkeypatch):
    if request.param == CPU:
        monkeypatch.setattr(cuda_graphs, "Recording", CalledAgain)
    return request.param


def make(make_config, device, algo):
    config = make_config("CartPole-v1", {"name": "ppo", **algo}, policy={"hidden": [16]})
    torch.manual_seed(0)
    policy = Policy(SPACES, config.policy).to(device)
    return policy, Optimizer(policy, config.algo), config.algo


def batch_of(size, device, seed):
    stream = torch.Generator().manual_seed(seed)
    noise = torch.randn(4, size, generator=stream).to(device)
    return Batch(
        obs={"obs": torch.randn(size, 5, generator=stream).to(device)},
        action=torch.randint(0, 3, (size,), generator=stream).to(device),
        log_prob=-1.1 + 0.01 * noise[0],
        value=noise[1],
        advantage=noise[2],
        target=noise[3],
        mask=None,
    )


def objective(said, batch, now):
    """PPO's, with fewer settings."""
    log_ratio = said.log_prob - batch.log_prob
    ratio = F.exp(log_ratio)
    return F.objective(
        F.clipped_surrogate(ratio, F.standardize(batch.advantage), now["clip"]),
        F.value_loss(said.raw_value, batch.target),
        said.entropy,
        value_weight=0.5,
        entropy_weight=now["entropy"],
        metrics=F.policy_shift(log_ratio, now["clip"], ratio),
    )


def plainly(policy, optimizer, config, batch, orders, at, kl):
    """The reference: one step after another, looking every time."""
    learner = TorchLearner(policy, optimizer)
    now = {"clip": config.clip.at(at), "entropy": config.entropy.at(at)}
    rows = []
    for order in orders:
        for indices in order.to(batch.action.device).split(16):
            part = batch.select(indices)
            terms, slopes = objective(learner.evaluate(part), part, now)
            if kl is not None and rows and terms["policy/approx_kl"] > kl:
                return F.averages(rows), len(rows)
            rows.append(terms | {"grad/norm": learner.step(slopes, at)})
    return F.averages(rows), len(rows)


@pytest.mark.parametrize("rule", ["adam", "adamw", "rmsprop", "sgd"])
@pytest.mark.parametrize("kl", [None, 2e-4], ids=["", "stops"])
@pytest.mark.parametrize("limit", [0.1, None], ids=["clipped", ""])
def test_replayed_updates_equal_plain_ones(make_config, device, rule, kl, limit):
    algo = {
        "optimizer": rule,
        "max_grad_norm": limit,
        "lr": {"shape": "linear", "start": 0.3 if rule == "sgd" else 1e-2, "end": 0},
        "critic_lr": 3e-3,
        "clip": {"shape": "linear", "start": 0.2, "end": 0},
        "entropy": 0.01,
    }
    ours, reference = make(make_config, device, algo), make(make_config, device, algo)
    policy, optimizer, config = ours
    updates = Updates(TorchLearner(policy, optimizer))
    memory = batch_of(64, device, seed=0)
    stops = 0
    for round_ in range(6):
        at = Progress(round_ * 10, 100)
        fresh = batch_of(64, device, seed=round_)
        for name in ("action", "log_prob", "value"):
            getattr(memory, name).copy_(getattr(fresh, name))
        memory.obs["obs"].copy_(fresh.obs["obs"])
        batch = replace(memory, advantage=fresh.advantage, target=fresh.target)
        orders = [torch.randperm(64) for _ in range(3)]

        reference[1].set_rates(at)
        wanted, steps = plainly(*reference, batch, orders, at, kl)
        optimizer.set_rates(at)
        now = {"clip": config.clip.at(at), "entropy": config.entropy.at(at)}
        too_far = None if kl is None else lambda terms, now: terms["policy/approx_kl"] > kl
        got, taken = updates.run(objective, batch, iter(orders), 16, now, limit, too_far)

        assert taken == steps
        stops += steps < 12
        assert set(got) == set(wanted)
        for name, value in wanted.items():
            assert got[name].item() == pytest.approx(value.item(), rel=1e-3, abs=1e-5), name
    assert bool(stops) == (kl is not None), "a KL limit nobody reaches tests nothing"
    torch.testing.assert_close(optimizer.flat, reference[1].flat, rtol=1e-4, atol=1e-5)
    saved, known = optimizer.state(), reference[1].state()
    assert saved.get("steps") == known.get("steps")


def test_recordings_are_made_anew_when_memory_moves(make_config, device):
    policy, optimizer, _ = make(make_config, device, {})
    learner = TorchLearner(policy, optimizer)
    updates, now = Updates(learner), {"clip": 0.2, "entropy": 0.0}
    optimizer.set_rates(START)

    def loss_on(batch):
        means, _ = updates.run(objective, batch, [torch.arange(32)], 32, now, None, None)
        return means["loss/total"]

    first, other = batch_of(32, device, 1), batch_of(32, device, 2)
    for batch in (first, other, first):
        expected = objective(learner.evaluate(batch), batch, now).terms["loss/total"].item()
        assert loss_on(batch).item() == pytest.approx(expected, rel=1e-4)


def test_values_of_an_update_may_lie_anywhere(make_config, device):
    """With PopArt, old values are computed for every update: new addresses, the same recording."""
    policy, optimizer, _ = make(make_config, device, {})
    updates = Updates(TorchLearner(policy, optimizer))
    optimizer.set_rates(START)
    batch, seen = batch_of(32, device, 1), []

    def watched(said, part, now):
        seen.append(part.value.sum())
        return objective(said, part, now)

    for shift in (0.0, 1.0):
        moved = replace(batch, value=batch.value + shift)
        now = {"clip": 0.2, "entropy": 0.0}
        updates.run(watched, moved, [torch.arange(32)], 32, now, None, None)
        assert seen[-1].item() == pytest.approx(moved.value.sum().item(), abs=1e-4)
    assert len(updates._recorded) == 1


def test_a_setting_that_is_switched_on_counts(make_config, device):
    policy, optimizer, _ = make(make_config, device, {})
    updates = Updates(TorchLearner(policy, optimizer))
    optimizer.set_rates(START)
    batch = batch_of(32, device, 1)

    def with_bonus(said, part, now):
        terms, slopes = objective(said, part, now)
        return Objective(terms | {"bonus": now.get("bonus", 0 * now["clip"])}, slopes)

    for now, bonus in (
        ({"clip": 0.2, "entropy": 0.0}, 0),
        ({"clip": 0.2, "entropy": 0.0, "bonus": 3}, 3),
    ):
        means, _ = updates.run(with_bonus, batch, [torch.arange(32)], 32, now, None, None)
        assert means["bonus"].item() == bonus


def test_dials_take_new_values():
    dial = Dial(("clip", "entropy"), CPU)
    clip = dial["clip"]
    dial.set({"entropy": 0.5, "clip": 0.25})
    assert (clip.item(), dial["entropy"].item()) == (0.25, 0.5)


@on_gpu
def test_recording_replays_with_new_contents():
    x = torch.ones(3, device="cuda")
    double = Recording(lambda: 2 * x)
    x.fill_(4.0)
    assert double().tolist() == [8.0, 8.0, 8.0]


@on_gpu
@pytest.mark.parametrize("kl", [None, 0.003])
def test_whole_runs_agree_with_the_plain_path(make_config, monkeypatch, kl):
    # sums in one order: chance differences would be magnified by Adam
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    starts, ends, rows = [], [], []
    for engine in ("torch", "auto"):
        config = make_config(
            "tests.learning.envs:Match-v0",
            {"name": "ppo", "steps": 32, "minibatch": 64, "lr": 1e-3, "target_kl": kl},
            env={"kwargs": {"kind": "pixels"}},
            policy={"engine": engine},
            device="cuda",
        )
        with Training(config) as training:
            flat = training.algorithm.optimizer.flat
            starts.append(flat.clone())
            rows.append([training.step().metrics for _ in range(3)])
            ends.append(flat.clone())
    assert torch.equal(*starts)
    moved = (ends[0] - starts[0]).norm()
    assert (ends[1] - ends[0]).norm() < 0.01 * moved
    for ours, theirs in zip(rows[1], rows[0], strict=True):
        assert ours["ppo/epochs"] == theirs["ppo/epochs"]
        assert ours["loss/value"] == pytest.approx(theirs["loss/value"], rel=0.02, abs=1e-3)


def test_recorded_advantages_are_the_plain_ones(make_config, device):
    """Two rollouts that take turns, then a γ that moves on: each time what is there now counts."""
    policy, optimizer, _ = make(make_config, device, {})
    updates = Updates(TorchLearner(policy, optimizer))
    updates._updates = 1
    stream = torch.Generator().manual_seed(0)
    rollouts = [
        [*torch.randn(3, 6, 4, generator=stream).to(device), torch.zeros(6, 4).bool().to(device)]
        for _ in range(2)
    ]
    for turn in range(6):
        given = rollouts[turn % 2]
        given[0].copy_(torch.randn(6, 4, generator=stream))
        given[3].copy_(torch.rand(6, 4, generator=stream) < 0.3)
        gamma = 0.9 if turn < 4 else 0.9 + 0.01 * turn
        expected = F.gae(*given, gamma, 0.8)
        assert torch.equal(updates.advantages(*given, gamma, 0.8), expected)
    assert len(updates._advantages) == 2
