"""No game outlives its owner, whatever happens to it; and nothing is left lying about."""

import mmap
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import spotter
from spotter.envs.families import vizdoom
from spotter.envs.games.doom import orphan_killer

pytest.importorskip("vizdoom")
if not Path("/proc/self/task").exists():
    pytest.skip("needs /proc to see processes", allow_module_level=True)

OWNER = """
import os, signal, sys, time
from spotter.envs.families import vizdoom
games = [vizdoom.make(vizdoom.Config(id="VizDoom/Basic", family="vizdoom")) for _ in range(2)]
for game in games:
    game.reset(seed=1)
from spotter.envs.games.doom import engine
print(engine._home.folder, flush=True)
{end}
"""
ENDS = {
    "killed": "time.sleep(600)",
    "raised": "raise RuntimeError",
}


def running(folder):
    """Games that were started with a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if "+viz_instance_id" in words and any(word.startswith(folder) for word in words):
            found.append(words[words.index("+viz_instance_id") + 1])
    return found


def children():
    """Games of this process, by their process ids."""
    pids = []
    for task in Path("/proc/self/task").iterdir():
        pids += [int(pid) for pid in (task / "children").read_text().split()]
    return sorted(pid for pid in pids if Path(f"/proc/{pid}/comm").read_text() == "vizdoom\n")


@pytest.mark.parametrize("end", ENDS)
def test_games_end_with_their_owner(end, tmp_path):
    log = tmp_path / "log"
    command = [sys.executable, "-c", OWNER.format(end=ENDS[end])]
    around = {**os.environ, "PYTHONPATH": str(Path(spotter.__file__).parents[1])}
    with log.open("w") as out:
        owner = subprocess.Popen(
            command, stdout=out, stderr=subprocess.DEVNULL, cwd=tmp_path, env=around
        )
    try:
        folder = _wait_for(lambda: log.read_text().strip())
        games = running(folder)  # those of an owner that raises may be gone by now
        if end == "killed":
            assert len(games) == 2
            owner.kill()
        owner.wait(60)
    finally:
        owner.kill()
        owner.wait()
    assert _wait_for(lambda: not Path(folder).exists()), "the warden takes the folder away at last"
    assert _wait_for(lambda: not running(folder)), "no game runs on"
    assert _wait_for(lambda: not _shared(games)), "no shared memory is left"
    assert [file.name for file in tmp_path.iterdir()] == ["log"], "nothing is left where one works"


def test_an_owner_killed_while_it_starts_a_game_leaves_no_shared_memory(tmp_path):
    code = OWNER.replace("for game in games:", "print('ready', flush=True)\nfor game in games:")
    around = {**os.environ, "PYTHONPATH": str(Path(spotter.__file__).parents[1])}
    owner = subprocess.Popen(
        [sys.executable, "-c", code.format(end="time.sleep(600)")],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path, env=around,
    )  # fmt: skip
    try:
        maps = Path(f"/proc/{owner.pid}/maps")
        owner.stdout.readline()
        while not (found := re.findall(r"/dev/shm/(ViZDoom\w+)", maps.read_text())):
            assert owner.poll() is None
    finally:
        owner.kill()
        owner.communicate()
    assert _wait_for(lambda: not any(Path("/dev/shm", name).exists() for name in found))


def test_only_shared_memory_that_nothing_has_open_is_taken_away(monkeypatch):
    monkeypatch.setattr(
        orphan_killer, "_PREFIX", "TestsOfDoom"
    )  # other tests have games of their own
    names = ("used", "unused", "older")
    paths = {name: Path(f"/dev/shm/TestsOfDoom{name}{os.getpid()}") for name in names}
    try:
        paths["older"].write_bytes(bytes(4096))
        time.sleep(0.3)
        since = time.time()
        for name in ("used", "unused"):
            paths[name].write_bytes(bytes(4096))
        with paths["used"].open("r+b") as file, mmap.mmap(file.fileno(), 4096):
            time.sleep(0.3)
            orphan_killer.forget_unused(since)
            assert [name for name in names if paths[name].exists()] == ["used", "older"]
    finally:
        for path in paths.values():
            path.unlink(missing_ok=True)


def _shared(games):
    """Shared memory of these games."""
    names = [file.name for file in Path("/dev/shm").iterdir()]
    return [name for name in names for game in games if name.endswith(game)]


def _wait_for(condition, seconds=60.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def test_closing_ends_the_game_at_once_and_may_be_repeated():
    before = children()
    env = vizdoom.make(vizdoom.Config(id="VizDoom/Basic", family="vizdoom"))
    assert children() == before, "nothing runs before it is needed"
    env.reset(seed=1)
    assert len(children()) == len(before) + 1
    env.close()
    env.close()
    assert children() == before


def test_ctrl_c_is_for_the_owner():
    """A terminal sends it to everybody; the game must not die of it before the run is saved."""
    env = vizdoom.make(vizdoom.Config(id="VizDoom/Basic", family="vizdoom"))
    try:
        before = set(children())
        env.reset(seed=1)
        (game,) = set(children()) - before
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(game, number)
        assert env.step(0)[1] == -4.0
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        env.close()


def test_games_do_not_care_where_the_owner_stands(tmp_path):
    """Each makes a folder where it starts; two at once, or no right to, took the process down."""
    in_the_way = tmp_path / "_vizdoom"
    in_the_way.touch()
    around = {**os.environ, "PYTHONPATH": str(Path(spotter.__file__).parents[1])}
    command = [sys.executable, "-c", OWNER.format(end="print(games[0].step(0)[1])")]
    done = subprocess.run(command, cwd=tmp_path, env=around, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == [in_the_way]
