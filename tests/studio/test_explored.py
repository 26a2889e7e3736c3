"""What Studio keeps of explorations: read once per save, frames within limits, no pile of work."""

import asyncio
import json

import orjson
import pytest

from spotter.explore.archive import load
from spotter.explore.cells import HEIGHT, WIDTH
from spotter.explore.shelf import Shelf
from spotter.explore.tree import chain
from spotter.studio import explored as keeping
from spotter.studio.explored import BusyError, Explored, details
from spotter.types import UserError
from tests.explore.test_go import explored


class Player:
    """Plays nothing, and remembers what it was asked; waits until it may answer."""

    def __init__(self, size: int = 10) -> None:
        self.asked, self.size = [], size
        self.may_answer = asyncio.Event()

    async def run(self, name, /, **how):
        assert name == "spotter.studio.explored_playing:frames"
        self.asked.append(how)
        await self.may_answer.wait()
        return [bytes(self.size) for _ in how["pieces"]], ""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("kept") / "explored"
    explored(root / "rooms", 60).close()
    return root


def longest(opened):
    nodes = opened.archive.nodes
    return max(range(len(nodes)), key=lambda n: len(chain(opened.archive, n)))


def test_an_archive_is_read_once_per_save(root, monkeypatch):
    shown = Explored(Shelf(root), Player())
    first = shown.opened("rooms")
    assert shown.opened("rooms") is first
    explored(root / "rooms", 61).close()
    assert shown.opened("rooms") is not first
    monkeypatch.setattr(keeping, "_MOST_NODES", 3)
    with pytest.raises(UserError, match="places on its ways, and a page draws 3 at the most"):
        Explored(Shelf(root), Player()).opened("rooms")


def test_the_page_gets_all_cells_and_nodes(root):
    archive, about = load(root / "rooms")
    found = json.loads(orjson.dumps(details(archive, about)))
    count = len(archive.entries)
    assert found["map"]["is_grid"] and found["map"]["small"]["pixels"]["shape"] == [
        count, WIDTH * HEIGHT
    ]  # fmt: skip
    for part, size in (("cells", count), ("tree", len(archive.nodes))):
        assert {len_of["shape"][0] for len_of in found[part].values()} == {size}
    assert found["best"] == archive.best and found["about"]["starts"] == about["starts"]


def test_one_playing_shows_the_whole_way(root):
    async def look():
        player = Player()
        shown = Explored(Shelf(root), player)
        opened = shown.opened("rooms")
        way = [opened.digests[n] for n in chain(opened.archive, longest(opened))]
        asking = [asyncio.create_task(shown.frame("rooms", way[-1])) for _ in range(3)]
        await asyncio.sleep(0.2)
        player.may_answer.set()
        assert await asyncio.gather(*asking) == [(bytes(10), "")] * 3
        for digest in way:
            await shown.frame("rooms", digest)
        assert len(player.asked) == 1 and len(way) > 3
        [how] = player.asked
        actions = [action for piece in how["pieces"] for action in piece]
        assert actions == opened.archive.way(longest(opened))

    asyncio.run(look())


def test_frames_are_kept_up_to_a_size(root, monkeypatch):
    monkeypatch.setattr(keeping, "_MOST_KEPT", 60)
    monkeypatch.setattr(keeping, "_MOST_AT_ONCE", 2)

    async def look():
        player = Player()
        player.may_answer.set()
        shown = Explored(Shelf(root), player)
        for digest in shown.opened("rooms").digests:
            assert (await shown.frame("rooms", digest))[0] == bytes(10)
            assert shown._kept == sum(len(frame) for frame, _ in shown._frames.values()) <= 60

    asyncio.run(look())


def test_a_pile_of_ways_is_refused_and_a_failed_one_forgotten(root, monkeypatch):
    monkeypatch.setattr(keeping, "_MOST_WAITING", 2)

    async def look():
        player = Player()
        shown = Explored(Shelf(root), player)
        digests = shown.opened("rooms").digests
        asking = [asyncio.create_task(shown.frame("rooms", one)) for one in digests[-2:]]
        await asyncio.sleep(0.2)
        with pytest.raises(BusyError, match="try again in a moment"):
            await shown.frame("rooms", digests[0])
        player.may_answer.set()
        await asyncio.gather(*asking)
        player.run = None
        shown._frames.clear()
        with pytest.raises(TypeError):
            await shown.frame("rooms", digests[0])
        await asyncio.sleep(0)
        assert not shown._playing
        with pytest.raises(UserError, match="no longer in the archive"):
            await shown.frame("rooms", "0" * 16)

    asyncio.run(look())
