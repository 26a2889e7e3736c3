"""Training on an accelerator, where there is one."""

import platform
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from spotter.engines import devices
from spotter.rundir.run import Run
from spotter.training import checkpoint
from spotter.training.checkpoint import Contents, Keeper
from spotter.training.run import train
from spotter.training.training import Training
from spotter.types import Leaf, UserError

HERE = [
    name
    for name, there in (
        ("cuda", torch.cuda.is_available()),
        ("mps", torch.backends.mps.is_available()),
    )
    if there
]
NONE = pytest.param("none", marks=pytest.mark.skip(reason="no NVIDIA GPU"))
DEVICES = HERE or [NONE]
ALGOS = {
    "ppo": {"name": "ppo", "lr": 1e-2, "steps": 32, "minibatch": 64},
    "a2c": {"name": "a2c", "lr": 1e-2, "steps": 8, "optimizer": "adam"},
    "reinforce": {"name": "reinforce", "episodes": 4},
}


@pytest.mark.parametrize(
    ("shapes", "is_worth_it"),
    [({"vector": (400,)}, False), ({"image": (3, 7, 7)}, False), ({"image": (4, 84, 84)}, True),
     ({"image": (3, 40, 7), "vector": (3,)}, False), ({"image": (1, 24, 30)}, True)],
)  # fmt: skip
def test_every_core_is_for_pictures_only(monkeypatch, shapes, is_worth_it):
    monkeypatch.setattr("spotter.system.machine.cores", lambda: 8)
    leaves = {kind: Leaf(kind, shape, "float32") for kind, shape in shapes.items()}
    spaces = SimpleNamespace(observation=leaves)
    assert devices.threads(spaces) == (8 if is_worth_it else 1)


@pytest.mark.parametrize(("jobs", "threads"), [("1", 8), ("2", 4), ("3", 2), ("20", 1)])
def test_runs_at_once_share_the_cores(monkeypatch, jobs, threads):
    monkeypatch.setattr("spotter.system.machine.cores", lambda: 8)
    monkeypatch.setenv("SPOTTER_JOBS", jobs)
    spaces = SimpleNamespace(observation={"image": Leaf("image", (4, 84, 84), "float32")})
    assert devices.threads(spaces) == threads


def test_a_resumed_training_has_the_threads_it_was_saved_with(make_config, monkeypatch):
    monkeypatch.setattr("spotter.system.machine.cores", lambda: 4)
    config = make_config("CartPole-v1", {"name": "ppo", "steps": 8, "minibatch": 1.0})
    before = torch.get_num_threads()
    try:
        with Training(config) as training:
            state = {**training.state(), "threads": 3}
            training.restore(training.policy.state_dict(), state)
            assert (training.threads, torch.get_num_threads()) == (3, 3)
            assert training.state()["threads"] == 3
            training.restore(training.policy.state_dict(), {**state, "threads": 64})
            assert torch.get_num_threads() == 4, "no more than there are cores"
            older = {name: value for name, value in state.items() if name != "threads"}
            training.restore(training.policy.state_dict(), older)
        written = config.model_copy(update={"threads": 1})
        with Training(written) as training:
            training.restore(training.policy.state_dict(), state)
            assert torch.get_num_threads() == 1, "what is written comes first"
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("kind", ["discrete", "multi_discrete", "binary", "box"])
def test_learns_on_an_accelerator(make_config, device, algo, kind):
    config = make_config(
        "tests.learning.envs:Match-v0",
        {**ALGOS[algo], "gamma": 0.0},
        env={"kwargs": {"kind": kind}, "threshold": 8 * (0.9 if kind == "box" else 0.97)},
        policy={"hidden": [32], "log_std": -1.0, "normalize_values": True},
        eval={"every_steps": 2000},
        budget={"env_steps": 40_000},
        device=device,
    )
    result = train(config)
    assert next(result.policy.network.parameters()).device.type == device
    assert result.solved, f"score {result.score} of 8"


@pytest.mark.parametrize("device", DEVICES)
def test_pixels_and_running_statistics_on_an_accelerator(make_config, device):
    pixels = make_config(
        "tests.learning.envs:Match-v0",
        {"name": "ppo", "steps": 32, "minibatch": 64, "lr": 1e-3, "gamma": 0.0},
        env={"kwargs": {"kind": "pixels"}, "threshold": 7.8},
        eval={"every_steps": 512},
        budget={"env_steps": 8000},
    )
    assert train(pixels).solved, "auto picks the accelerator for images"
    config = make_config(
        "CartPole-v1", policy={"normalize_obs": "running", "norm": "batch"}, device=device
    )
    with Training(config) as training:
        training.step()
        assert training.device.type == device
        assert torch.isfinite(training.policy.inputs.get_submodule("obs").get_buffer("mean")).all()


@pytest.mark.parametrize("device", [name for name in ("cuda", "mps") if name not in HERE])
def test_a_device_that_is_not_there_is_one_sentence(make_config, device):
    with pytest.raises(UserError, match=f"device: {device} is not available here; available: "):
        train(make_config("CartPole-v1", device=device))


@pytest.mark.parametrize("device", DEVICES)
def test_a_run_goes_on_on_an_accelerator(make_config, device):
    """Through a checkpoint; kernels may differ in the last bits, so the weights are compared."""
    config = make_config(
        "CartPole-v1", policy={"normalize_obs": "running", "normalize_values": True}, device=device
    )
    with Training(config) as training:
        for _ in range(3):
            training.step()
        run = Run.create(config, "x")
        contents = Contents(
            training.env_steps, training.policy, {"training": training.state()}, {}, ""
        )
        Keeper(run, config.checkpoint).save(contents)
        training.step()
        expected = training.policy.state_dict()
    saved = checkpoint.read(checkpoint.find_in(run, "@latest"))
    with Training(config, saved.env_steps) as other:
        assert other.restore(saved.weights, saved.trainer["training"]) == []
        other.step()
        for name, tensor in other.policy.state_dict().items():
            assert torch.allclose(tensor.float(), expected[name].float(), atol=1e-5), name


@pytest.mark.parametrize("device", DEVICES)
def test_async_evaluation_beside_an_accelerator(make_config, device):
    config = make_config(
        "CartPole-v1",
        device=device,
        eval={"mode": "async", "every_steps": 256, "episodes": 2},
        budget={"env_steps": 2000},
    )
    assert train(config).score is not None


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_memory_for_images_is_kept():
    """In a process of its own: pages once touched are not asked for again."""
    code = """
import resource, sys, torch
from spotter.engines import devices
if sys.argv[1] == "keep":
    assert devices.keep_freed_memory()
from torch.nn import Conv2d, ReLU, Sequential
net = Sequential(Conv2d(4, 32, 8, 4), ReLU(), Conv2d(32, 64, 4, 2))
def faults():
    images = torch.ones(256, 4, 84, 84, dtype=torch.uint8)
    net(images.to(torch.float32).div_(255)).square().mean().backward()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
before = [faults() for _ in range(4)][-1]
print([faults() for _ in range(4)][-1] - before)
"""

    def faults(how):
        done = subprocess.run(
            [sys.executable, "-c", code, how], capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    assert faults("keep") < faults("plain") / 4
