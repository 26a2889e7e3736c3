"""Our side of a console: starts its process, asks it, and leaves nothing behind.

A plain subprocess rather than one of multiprocessing's: those may not be started from the workers
of the process back-end, and run the user's script again. The console boots while others are being
started; the first question waits for it.
"""

import contextlib
import os
import pickle
import subprocess
import sys
import weakref
from typing import Any, Final

import numpy as np

from spotter.envs.backends.process import ending
from spotter.envs.games.emulator.child import Cartridge
from spotter.envs.games.emulator.picture import Pixels
from spotter.system import children

_PATIENCE_S: Final = 2.0
_ONE_THREAD: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
Info = dict[str, Any]


class ConsoleError(RuntimeError):
    """A console that failed or died."""


class Console:
    """An emulator in a process of its own."""

    def __init__(self, cartridge: Cartridge) -> None:
        self._process = _start()
        self._end = weakref.finalize(self, _finish, self._process)
        self._screen: tuple[int, int] | None = None
        self._send("open", cartridge)

    @property
    def pid(self) -> int:
        return self._process.pid

    def screen_size(self) -> tuple[int, int]:
        """[height, width]; waits until the console has booted."""
        if not self._end.alive:
            raise ConsoleError("this console has been closed")
        if self._screen is None:
            try:
                self._screen = self._receive()
            except ConsoleError:  # one that cannot start has no more answers
                self.close()
                raise
        return self._screen

    def reset(self, idle: int) -> tuple[bytes, Info]:
        return self._ask("reset", idle)  # type: ignore[no-any-return]

    def step(
        self, before: int, late: int, combo: int, frames: int
    ) -> tuple[bytes, float, bool, Info, int]:
        return self._ask("step", before, late, combo, frames)  # type: ignore[no-any-return]

    def screen(self) -> Pixels:
        """The latest frame, [H, W, 3]."""
        return np.asarray(self._ask("shown"))

    def memory(self) -> bytes:
        return self._ask("memory")  # type: ignore[no-any-return]

    def save(self) -> object:
        return self._ask("save")

    def restore(self, saved: object) -> None:
        self._ask("restore", saved)

    def close(self) -> None:
        self._end()

    def _ask(self, name: str, *arguments: object) -> Any:
        self.screen_size()
        self._send(name, *arguments)
        return self._receive()

    def _send(self, name: str, *arguments: object) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # one that is gone says so when its answer is due
            pickle.dump((name, arguments), self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def _receive(self) -> Any:
        assert self._process.stdout is not None
        try:
            is_well, answer = pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            code = self._process.wait()
            raise ConsoleError(f"the emulator's process died with {ending(code)}") from error
        except BaseException:  # an interrupt: the rest of the answer would be taken for the next
            self._process.kill()
            raise
        if not is_well:
            raise ConsoleError(f"the emulator failed:\n{answer}")
        return answer


def _start() -> "subprocess.Popen[bytes]":
    environment = {
        **os.environ,
        **dict.fromkeys(_ONE_THREAD, "1"),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    here = tuple(children.this_process())
    code = f"from spotter.envs.games.emulator.child import main; main(*{here})"
    with children.signals_blocked():
        return subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # Windows' own
        )


def _finish(process: "subprocess.Popen[bytes]") -> None:
    """End a console's process and take note of its end, so that no zombie stays."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    try:
        process.wait(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
