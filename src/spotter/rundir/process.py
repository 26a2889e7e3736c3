"""Is the process that trains a run still there? Only asked of processes on this machine."""

import os
import socket
import sys
from functools import cache
from pathlib import Path


@cache
def host() -> str:
    return socket.gethostname()


def is_alive(pid: int) -> bool:
    """Whether a process of that number runs; one that ended and waits to be reaped does not."""
    if pid <= 0:
        return False
    if sys.platform == "win32":
        return _is_alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True  # another user's
    except (ProcessLookupError, OverflowError):
        return False
    return _linux_stat(pid)[0] != "Z"


def start_of(pid: int) -> str:
    """When a process started, to distinguish it from a later one; empty where unknown."""
    return _linux_stat(pid)[1]


def _linux_stat(pid: int) -> tuple[str, str]:
    """State and start time in clock ticks from /proc; empty on other systems."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", ""
    after_name = text.rpartition(")")[2].split()  # the name may hold blanks and brackets
    return after_name[0], after_name[19]


def _is_alive_on_windows(pid: int) -> bool:
    # os.kill(pid, 0) would send an interrupt there
    import ctypes

    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009  # exists on Windows only
    query, still_active = 0x1000, 259
    handle = kernel.OpenProcess(query, False, pid)
    if not handle:
        return False
    code = ctypes.c_ulong()
    kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return code.value == still_active
