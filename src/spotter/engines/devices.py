"""Where to compute, and on how many threads."""

import ctypes
from typing import Final

import torch

from spotter.config import RunConfig
from spotter.system import machine
from spotter.types import Spaces, UserError

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of settings in glibc's malloc.h
_BOARD: Final = 24
"""Cells on a side; a convolution over fewer is done before its threads have met."""
_ALL_SIZES: Final = 1 << 30


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


def threads(spaces: Spaces) -> int:
    """One thread for vectors and boards (more is slower), every core for images; runs of a group
    that are trained at once share them."""
    images = (leaf.shape for leaf in spaces.observation.values() if leaf.kind == "image")
    is_worth_it = any(sorted(shape)[-2] >= _BOARD for shape in images)
    return machine.share() if is_worth_it else 1


def keep_freed_memory() -> bool:
    """Do not return memory to the system only to ask for it again; whether that could be said.

    Minibatches of images need many megabytes briefly. By default glibc hands such pieces back
    at once and gets others, each of whose pages the system has to clear first: a fifth of the time
    that learning from images takes on a CPU. Elsewhere (macOS, Windows, musl) nothing changes.
    """
    try:
        setting = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return all(setting(name, _ALL_SIZES) == 1 for name in (_TRIM_THRESHOLD, _MMAP_THRESHOLD))
