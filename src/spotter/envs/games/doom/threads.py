"""Envs in a few threads: for games that run in processes of their own, as ViZDoom's do.

While a game runs, the thread that waits for it releases the GIL, so one thread per core keeps
all of them busy. Where the system allows it, a thread and its games stay on one core: passing turns
between cores costs more than a tic of Doom.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from spotter.config import EnvConfig, RewardConfig
from spotter.envs.backends.local import Build, LocalVector
from spotter.system import machine

_NAME: Final = "spotter envs"
_FAMILIES: Final = ("vizdoom",)


def reason_against(env: EnvConfig, reward: RewardConfig | None = None) -> str:
    """Why threads would gain nothing here, as a clause; empty when they do."""
    if env.family not in _FAMILIES:
        return f"{env.id} is computed by Python itself, one env at a time"
    return ""


def thread_vector(
    build: Build,
    count: int,
    restarts: int = 0,
    timeout_s: float | None = None,
    threads: int | None = None,
) -> LocalVector:
    """Several slices in this process, one thread each."""
    cores = _cores()
    pools = [_pool(cores[n % len(cores)]) for n in range(min(count, threads or len(cores)))]
    try:
        return LocalVector(build, count, restarts, timeout_s, pools)
    except BaseException:
        for pool in pools:
            pool.shutdown(cancel_futures=True)
        raise


def _pool(core: int) -> ThreadPoolExecutor:
    """One thread, on a core of its own where the system allows it."""
    if not hasattr(os, "sched_setaffinity"):
        return ThreadPoolExecutor(1, _NAME)
    return ThreadPoolExecutor(1, _NAME, initializer=os.sched_setaffinity, initargs=(0, {core}))


def _cores() -> list[int]:
    """Those this process may use; two processes begin with different ones, if all goes well."""
    cores = machine.core_ids()
    first = os.getpid() % len(cores)
    return cores[first:] + cores[:first]
