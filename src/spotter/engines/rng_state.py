"""Global random number generators: we use none of them, but an environment may."""

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from spotter import seeding


def seed_all(seed: int) -> None:
    random.seed(seeding.integer(seed, "python"))
    np.random.seed(seeding.integer(seed, "numpy"))
    torch.manual_seed(seeding.integer(seed, "torch"))


def state(device: torch.device) -> dict[str, Any]:
    found: dict[str, Any] = {
        "torch": torch.get_rng_state().numpy(),
        "numpy": np.random.get_state(),
        "python": random.getstate(),
    }
    if device.type == "cuda":
        found["cuda"] = torch.cuda.get_rng_state(device).numpy()
    return found


def restore(saved: Mapping[str, Any], device: torch.device) -> None:
    torch.set_rng_state(torch.as_tensor(saved["torch"]))
    np.random.set_state(saved["numpy"])
    random.setstate(saved["python"])
    if device.type == "cuda" and "cuda" in saved:
        torch.cuda.set_rng_state(torch.as_tensor(saved["cuda"]), device)
