"""A small clean-up process that ends the games of a process which has died.

ViZDoom's games wait forever if the process that started them is killed. So a process with
games starts one of these. It waits for the end of a pipe; then it ends every game that was started
with the same folder, takes its shared memory away, and the folder. It runs as a script, without
this package, with signals blocked. There is none on Windows.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_ID = "+viz_instance_id"
_CLOCK_S = 0.1  # by which the time of a file may be behind
_PREFIX = "ViZDoom"  # of what games share
_MAKING_S = 1.0
_STARTING_S = 0.3  # a game that was just being started has no command line of its own yet


def main(folder: str, began: float) -> None:
    """`began` is when the owner started this process: it may make games before this one runs."""
    sys.stdin.buffer.read()
    end_games(folder)
    time.sleep(_STARTING_S)
    end_games(folder)
    forget_unused(began)
    shutil.rmtree(folder, ignore_errors=True)


def end_games(folder: str) -> None:
    for pid, command in processes():
        if _ID in command[:-1] and any(part.startswith(folder) for part in command):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            forget(command[command.index(_ID) + 1])


def forget(game: str) -> None:
    """Remove what a game shared with its owner; only Linux keeps it in a folder."""
    for left in Path("/dev/shm").glob(f"{_PREFIX}*{game}"):
        with contextlib.suppress(OSError):
            left.unlink()


def forget_unused(since: float) -> None:
    """Remove what an owner made that was killed before its game started: nothing has it open.

    A live owner maps its shared memory shortly after creating it, so whatever is unused
    is looked at again before it is removed.
    """
    if unused := _unused(since):
        time.sleep(_MAKING_S)
        for path in unused & _unused(since):
            path.unlink(missing_ok=True)


def _unused(since: float) -> set[Path]:
    found = set()
    for path in Path("/dev/shm").glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            about = path.stat()
            if about.st_uid == os.getuid() and about.st_ctime >= since - _CLOCK_S:
                found.add(path)
    used = mapped() if found else set()
    return {path for path in found if path.name not in used}


def mapped() -> set[str]:
    """Names in shared memory that any process has open."""
    names = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            for line in (entry / "maps").read_text(errors="replace").splitlines():
                _, slash, name = line.partition("/dev/shm/")
                if slash:
                    names.add(name.removesuffix(" (deleted)"))
    return names


def processes() -> Iterator[tuple[int, list[str]]]:
    """Every process with its command line."""
    if Path("/proc/self/cmdline").exists():
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                yield int(entry.name), words
        return
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,args="], capture_output=True, text=True, check=False
    )
    for line in listed.stdout.splitlines():
        pid, *words = line.split()
        yield int(pid), words


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
