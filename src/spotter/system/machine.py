"""What this machine gives this process: cores and memory, as far as the system says.

Batch systems, containers and `taskset` hand out less than a machine has; code that counts cores or
bytes asks here and not the machine.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

JOBS_VARIABLE: Final = "SPOTTER_JOBS"
"""How many runs of a group are trained at once; set for their processes."""
_CGROUPS: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def core_ids() -> list[int]:
    """The cores this process may use, where the system reports them; otherwise all there are."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    count = getattr(os, "process_cpu_count", os.cpu_count)()
    return list(range(count or 1))


def cores() -> int:
    """How many cores this process may use; at least 1."""
    return len(core_ids())


def share() -> int:
    """The cores for one of the runs that were started together; all of them for one alone."""
    jobs = os.environ.get(JOBS_VARIABLE, "")
    return max(1, cores() // max(1, int(jobs) if jobs.isdecimal() else 1))


def memory_bytes() -> int | None:
    """The most memory this process can get: the machine's, or less by a limit; None if unknown."""
    return min(_limits(), default=None)


def _limits() -> Iterator[int]:
    if sys.platform == "win32":
        yield from _windows_memory()
        return
    with contextlib.suppress(ValueError, OSError):
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in _CGROUPS:
        with contextlib.suppress(OSError, ValueError):  # "max": no limit
            yield int(path.read_text(encoding="ascii"))
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        yield limit


def _windows_memory() -> Iterator[int]:
    import ctypes

    kilobytes = ctypes.c_ulonglong()
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 - other systems do not have it
    if kernel.GetPhysicallyInstalledSystemMemory(ctypes.byref(kilobytes)):
        yield kilobytes.value * 1024
