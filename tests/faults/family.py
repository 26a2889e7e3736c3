"""A `spotter` command with all of its processes, as signals and kills find them. Linux only."""

import contextlib
import fcntl
import os
import pty
import secrets
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import ClassVar

_TAG = "SPOTTER_TEST_FAMILY"


class Family:
    """In a session and a process group of its own; found by a variable that all of it inherits."""

    all: ClassVar[list["Family"]] = []

    def __init__(self, *args: str, home: Path, terminal: int | None = None, **options) -> None:
        self._tag = secrets.token_hex(8)
        self._log = home / f"{self._tag}.log"
        home.mkdir(parents=True, exist_ok=True)
        self._seen: set[int] = set()
        command = [sys.executable, "-c", "from spotter.cli.main import main; main()", *args]
        with self._log.open("wb") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            if terminal is not None:
                streams = dict.fromkeys(streams, terminal)

            def prepare() -> None:
                if terminal is not None:
                    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
                signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup

            self.main = subprocess.Popen(
                command,
                env={**os.environ, "SPOTTER_RUNS": str(home), _TAG: self._tag},
                start_new_session=True,
                preexec_fn=prepare,
                **streams,
                **options,
            )
        Family.all.append(self)

    @classmethod
    def in_terminal(cls, *args: str, home: Path) -> tuple["Family", int]:
        """With a terminal of its own, and the descriptor that closes it."""
        ours, theirs = pty.openpty()
        family = cls(*args, home=home, terminal=theirs)
        os.close(theirs)
        os.set_blocking(ours, False)
        return family, ours

    @staticmethod
    def drain(terminal: int) -> None:
        """Take what it shows: a terminal that is full stops whoever writes to it."""
        with contextlib.suppress(BlockingIOError):
            while True:
                os.read(terminal, 1 << 16)

    def output(self) -> str:
        return self._log.read_text(errors="replace")

    def members(self) -> dict[int, str]:
        """The living processes and what they are, the main one included."""
        found = {}
        mark = f"{_TAG}={self._tag}".encode()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(entry.name)] = words.decode(errors="replace")
            except OSError:
                continue  # gone meanwhile, or another user's
        self._seen |= set(found)
        return found

    def wait_for(self, condition, timeout: float = 300) -> bool:
        """Whether something became true before the main process ended."""
        end = time.monotonic() + timeout
        while not condition():
            if self.main.poll() is not None:
                return False
            assert time.monotonic() < end, f"it never came true\n{self.output()}"
            time.sleep(0.02)
        return True

    def signal(self, number: int, way: str) -> None:
        """`group`: as Ctrl-C; `twice`: as `timeout`; `every`: as Slurm."""
        members = self.members()
        if self.main.poll() is not None:
            return
        if way == "every":
            targets = [(os.kill, pid) for pid in members]
        else:
            targets = [(os.kill, self.main.pid)] * (way == "twice") + [(os.killpg, self.main.pid)]
        for send, target in targets:
            try:
                send(target, number)
            except ProcessLookupError:
                continue

    def end(self, timeout: float = 300) -> int:
        """The exit code of the main process."""
        try:
            return self.main.wait(timeout)
        except subprocess.TimeoutExpired:
            members = self.members()
            self.kill()
            raise AssertionError(f"it did not end: {members}\n{self.output()}") from None

    def left_behind(self, within_s: float = 5.0) -> list[str]:
        """Processes and shared memory that are there after the main process has ended."""
        end = time.monotonic() + within_s
        while (members := self.members()) and time.monotonic() < end:
            time.sleep(0.05)
        blocks = [
            path.name
            for path in Path("/dev/shm").glob("spotter-*")
            if int(path.name.split("-")[1]) in self._seen
        ]
        self.kill()
        return [*members.values(), *blocks]

    def kill(self) -> None:
        for pid in self.members():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.main.wait()
