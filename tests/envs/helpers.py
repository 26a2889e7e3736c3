"""Short ways to the things most environment tests need."""

from typing import Any

import numpy as np
import pytest

from spotter.config import EnvConfig, RewardConfig
from spotter.envs.backends.vector import VectorEnv
from spotter.envs.base import Env
from spotter.envs.make import EnvBuilder, make_vector

BACKENDS = ("sync", "process")
both_backends = pytest.mark.parametrize("backend", BACKENDS)


def config(env_id: str, family: str = "gymnasium", **fields: Any) -> EnvConfig:
    """Our own test environments need no package in front."""
    known = ("Buttons", "Constant", "Faulty", "Informed", "Masked", "Picture", "Scripted")
    if env_id.removesuffix("-v0") in known:
        env_id = f"tests.envs.scripted:{env_id}"
    return EnvConfig(id=env_id, family=family, **fields)


def vector(env: EnvConfig, backend: str = "sync", count: int = 3, workers: int = 1) -> VectorEnv:
    changed = env.model_copy(update={"backend": backend, "workers": workers})
    return make_vector(changed, RewardConfig(), count=count)


def wrapped(env_id: str, *wrappers: dict[str, Any], **fields: Any) -> Env:
    """The wrapper stack of one copy, built as training builds it."""
    return EnvBuilder(config(env_id, wrappers=list(wrappers), **fields)).build().env


def signal_vector(env: EnvConfig, count: int = 1, **signal: Any) -> VectorEnv:
    return make_vector(env, RewardConfig(signals=[signal]), count=count)


def zeros(vector: VectorEnv) -> np.ndarray:
    return np.zeros_like(vector.buffers.action)
