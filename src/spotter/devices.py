"""Where to compute, and on how many threads."""

import os

import torch

from spotter.config import RunConfig
from spotter.types import UserError


def choose(config: RunConfig, images: bool) -> torch.device:
    """Small networks are faster on the CPU; images go to an accelerator where there is one."""
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    there = [name for name, ok in available.items() if ok]
    if config.device == "auto":
        return torch.device(there[0] if images else "cpu")
    if config.device not in there:
        raise UserError(
            f"device: {config.device} is not available here; available: {', '.join(there)}"
        )
    return torch.device(config.device)


def threads(images: bool) -> int:
    """One thread for vectors (more is slower), every core for convolutions."""
    return os.cpu_count() or 1 if images else 1
