"""A console in its own process: nothing of it stays, however things end."""

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from spotter.envs.families import retro
from spotter.envs.games.emulator import games
from spotter.envs.games.emulator.child import Machine
from spotter.envs.games.emulator.console import Console, ConsoleError

AIRSTRIKER = "Retro/Airstriker-Genesis"
posix = pytest.mark.skipif(os.name != "posix", reason="asks for processes by their signals")


def start(**settings):
    config = retro.Config.from_data({"id": AIRSTRIKER, "family": "retro", **settings})
    return Console(retro.cartridge(config, games.find(config.id, config.folder)))


def is_there(pid):
    """Running, or a zombie nobody has taken note of."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_gone_soon(pid, seconds=60):
    deadline = time.monotonic() + seconds
    while is_there(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_there(pid)


@posix
def test_closing_leaves_no_process_and_no_zombie():
    console = start()
    console.reset(0)
    assert is_there(console.pid)
    console.close()
    assert not is_there(console.pid)
    console.close()
    with pytest.raises(ConsoleError, match="closed"):
        console.reset(0)


@posix
def test_one_that_is_forgotten_goes_as_well():
    console = start()
    pid = console.pid
    del console
    gc.collect()
    assert not is_there(pid), "even while it was still booting"


@posix
def test_p27_a_crash_is_an_error_and_leaves_no_zombie():
    console = start()
    console.reset(0)
    os.kill(console.pid, signal.SIGKILL)
    with pytest.raises(ConsoleError, match=r"died with exit code -9 \(SIGKILL\)"):
        for _ in range(2):
            console.step(0, 0, 1, 1)
    assert not is_there(console.pid)
    console.close()


@posix
def test_an_emulator_that_never_returns_is_ended(shelf):
    """A game without an end, and a decision of months."""
    endless = {"id": "Retro/SuperMarioBros-Nes", "folder": str(shelf), "state": "none"}
    console = start(**endless, timeout_s=1)
    console.reset(0)
    began = time.monotonic()
    with pytest.raises(ConsoleError, match="SIGALRM"):
        console.reset(10**9)  # idle frames: no game ends meanwhile
    assert time.monotonic() - began < 600
    console.close()


@posix
def test_time_between_questions_does_not_count():
    console = start(timeout_s=1)
    console.reset(0)
    time.sleep(1.3)
    assert console.step(0, 0, 1, 1)[4] == 1
    console.close()


@posix
def test_it_does_not_outlive_whoever_started_it():
    """Not even where that one was killed and could put nothing away."""
    script = """
import os, signal
from tests.envs.games.emulator.test_console import start
console = start()
console.reset(0)
print(console.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    root = Path(__file__).parents[4]
    around = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *filter(None, sys.path)])}
    ran = subprocess.run(
        [sys.executable, "-c", script], env=around, capture_output=True, text=True, check=False
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    assert is_gone_soon(int(ran.stdout))


@posix
def test_an_interrupt_is_for_whoever_asks():
    console = start()
    console.reset(0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(console.pid, number)
    assert console.step(0, 0, 1, 4)[4] == 4
    console.close()


def test_what_goes_wrong_inside_is_told():
    console = start()
    with pytest.raises(ConsoleError, match="IndexError"):
        console.step(0, 0, 99, 1)
    assert console.step(0, 0, 1, 1)[4] == 1, "and it goes on"
    console.close()


def test_a_broken_cartridge_is_an_error(tmp_path):
    folder = tmp_path / "Airstriker-Genesis-v0"
    folder.mkdir()
    (folder / "Level1.state").write_bytes(b"nothing of the kind")
    config = retro.Config(id=AIRSTRIKER, family="retro", folder=str(tmp_path))
    console = Console(retro.cartridge(config, games.find(AIRSTRIKER, str(tmp_path))))
    with pytest.raises(ConsoleError, match="BadGzipFile"):
        console.reset(0)
    with pytest.raises(ConsoleError, match="closed"):
        console.reset(0)


def test_a_screen_that_changes_its_size_is_shown_in_the_first_one():
    """Some consoles draw title screens, or whole levels, in another resolution."""

    class Emulator:
        def get_screen(self):
            return np.full((224, 256, 3), 90, np.uint8)

        def get_rotation(self):
            return 0

    machine = object.__new__(Machine)
    machine._emulator, machine._size = Emulator(), (224, 320)
    machine._data = SimpleNamespace(crop_info=lambda player: (0, 0, 0, 0))
    assert machine.screen().shape == (224, 320, 3) and (machine.screen() == 90).all()
