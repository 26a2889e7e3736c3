"""Games as the server holds them: real processes, no browser."""

import asyncio
import json
import struct
from collections import deque
from time import monotonic

import pytest

from spotter.launch.worker import Worker
from spotter.studio import arena as module
from spotter.studio.arena import Arena, Table
from spotter.types import UserError

CARTPOLE = {"source": "CartPole-v1", "mode": "human", "seed": 1, "fps": 60}


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """No page comes to these games, however long a busy machine takes to start them."""
    monkeypatch.setattr(module, "GRACE_S", 600.0)


def header(message: bytes) -> dict:
    size = struct.unpack("<I", message[:4])[0]
    return json.loads(message[4 : 4 + size])


async def until(table, kind: str) -> dict:
    while True:
        found = header(await asyncio.wait_for(table.next(), 600))
        if found["kind"] == kind:
            return found


def test_a_game_lives_in_one_process_and_ends_with_it(monkeypatch):
    monkeypatch.setattr(module, "MOST_TABLES", 1)

    async def play() -> None:
        arena = Arena(Worker())
        name = arena.open(CARTPOLE)
        table = arena._tables[name]
        process = table._process
        assert (await until(table, "ready"))["env"] == "CartPole-v1"
        with pytest.raises(UserError, match="being played already"):
            arena.open(CARTPOLE)
        assert arena.open({**CARTPOLE, "source": "MountainCar-v0"}, name) == name
        assert (await until(table, "ready"))["env"] == "MountainCar-v0"
        assert table._process is process, "the next game needs no new process"
        process.kill()
        assert "has ended" in (await until(table, "failed"))["text"]
        again = arena.open(CARTPOLE, name)
        assert again != name, "a process that died is replaced"
        await until(arena._tables[again], "frame")
        child = arena._tables[again]._process
        arena.close()
        assert not child.is_alive()

    asyncio.run(play())


def test_a_game_without_a_page_is_closed(monkeypatch):
    monkeypatch.setattr(module, "GRACE_S", 0.1)

    async def play() -> None:
        arena = Arena(Worker())
        name = arena.open(CARTPOLE)
        process = arena._tables[name]._process
        given_up = monotonic() + 30
        while (name in arena._tables or process.is_alive()) and monotonic() < given_up:
            await asyncio.sleep(0.05)
        assert name not in arena._tables
        assert not process.is_alive()

    asyncio.run(play())


def test_pictures_nobody_fetched_give_way_to_newer_ones_and_events_stay():
    table = object.__new__(Table)  # a process is not needed for this
    table._waiting, table._news = deque(), asyncio.Event()
    for is_picture, text in ((1, b"a"), (1, b"b"), (0, b"event"), (1, b"c"), (1, b"d")):
        table._queue(bool(is_picture), text)
    assert [message for _, message in table._waiting] == [b"b", b"event", b"d"]
