"""Shared by all tests: small, complete configs."""

import pytest
import torch

from spotter.config import RunConfig, validate


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture
def make_config():
    """A valid config for any environment, with short rollouts."""

    def make(env_id: str, algo: str | dict = "ppo", **sections) -> RunConfig:
        data = {
            "env": {"id": env_id, "family": "gymnasium", "count": 4},
            "algo": dict(algo) if isinstance(algo, dict) else {"name": algo},
            "budget": {"env_steps": 1000},
        }
        for name, section in sections.items():
            merged = {**data.get(name, {}), **section} if isinstance(section, dict) else section
            data[name] = merged
        if data["algo"]["name"] != "reinforce":
            data["algo"].setdefault("steps", 16)
        return validate(data)

    return make
