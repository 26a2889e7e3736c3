"""The map of an archive's cells, and the tree of its ways: numbers only."""

import subprocess
import sys

import numpy as np

from spotter.explore import map as maps
from spotter.explore import tree
from spotter.explore.archive import Archive, Node
from spotter.explore.cells import HEIGHT, WIDTH

ENV = "ALE/MontezumaRevenge-v5"
HOW = "ram:room=3,x=42/8,y=43/8,items=65,level=57"


def grown(*ways):
    """An archive of cells `a`, `b`, …: each way is its parent's number, actions, and a score."""
    archive = Archive()
    archive.begin(b"start")
    for place, (parent, actions, score) in enumerate(ways):
        length = archive.nodes[parent].length + len(actions)
        made = Node(parent, np.array(actions, np.int16), score, length)
        archive.keep(bytes([97 + place]), made)
    return archive


def test_cells_lie_in_rooms_at_x_and_y():
    cells = [bytes(row) for row in ([1, 9, 21, 0, 0], [1, 10, 21, 0, 0], [2, 0, 30, 4, 0],
                                    [1, 9, 21, 4, 0])]  # fmt: skip
    found = maps.drawn(cells, HOW, ENV)
    assert found.fields == ("room", "x", "y", "items", "level")
    assert found.rooms == ("room 1", "room 2"), "in order of discovery; the level never differs"
    assert found.room.tolist() == [0, 0, 1, 0]
    assert found.x.tolist() == [9, 10, 0, 9] and found.y.tolist() == [21, 21, 30, 21]
    assert found.values.tolist() == [list(cell) for cell in cells]
    assert not found.is_grid and found.is_upwards


def test_rooms_of_several_levels_are_told_apart():
    cells = [bytes([room, 0, 0, 0, level]) for room, level in ((1, 0), (1, 1), (2, 0))]
    found = maps.drawn(cells, HOW, ENV)
    assert found.rooms == ("room 1, level 0", "room 1, level 1", "room 2, level 0")
    assert maps.drawn(cells[:1], HOW, ENV).rooms == ("room 1",)


def test_without_rooms_there_is_one_map():
    found = maps.drawn([bytes([3, 4]), bytes([5, 4])], "ram:x=1,y=2", "ALE/Pitfall-v5")
    assert found.rooms == ("",) and found.room.tolist() == [0, 0]
    assert found.x.tolist() == [3, 5] and not found.is_upwards and not found.is_grid


def test_other_cells_lie_in_a_grid_by_discovery():
    frames = [bytes([number] * WIDTH * HEIGHT) for number in range(maps.COLUMNS + 2)]
    for cells, how in ((frames, "frames"), ([frame[:2] for frame in frames], "ram:room=3,x=4")):
        found = maps.drawn(cells, how, ENV)
        assert found.is_grid and not found.is_upwards and found.rooms == ("",)
        places = list(zip(found.x.tolist(), found.y.tolist(), strict=True))
        assert places[0] == (0, 0) and places[maps.COLUMNS + 1] == (1, 1)
        assert len(set(places)) == len(cells)
    assert maps.drawn(frames, "frames", ENV).values.shape == (len(frames), 0)


def test_a_large_grid_is_wider():
    widths = []
    for count in (1000, 1001, 4000, 4001, 100_000):
        found = maps.drawn([bytes(1)] * count, "ram:x=1", ENV)
        widths.append(int(found.x.max()) + 1)
        assert found.y.max() < 2.5 * widths[-1]
    assert widths == [20, 40, 40, 80, 320]


def test_names_of_nodes_outlast_their_numbers():
    settings = {"env": {"id": ENV}, "seed": 1, "cells": HOW, "steps": 100}
    whole = grown((0, [1, 2], 0), (1, [3], 0), (0, [4], 5))
    fewer = grown((0, [4], 5), (0, [1], 0), (2, [2, 3], 0))
    names, others = tree.digests(whole, settings), tree.digests(fewer, settings)
    assert len(set(names)) == 4 and names[0] == others[0] and names[3] == others[1]
    assert names[2] not in others, "another piece ends there, so other frames are shown on the way"
    again = tree.digests(whole, settings | {"steps": 7})
    assert again == names, "how it was explored does not change what is seen"
    assert set(tree.digests(whole, settings | {"seed": 2})).isdisjoint(names)


def test_a_way_is_a_chain_of_nodes():
    archive = grown((0, [1], 0), (1, [2, 2], 0), (1, [3], 0), (2, [4], 1))
    assert tree.chain(archive, 4) == [0, 1, 2, 4]
    assert tree.chain(archive, 0) == [0]


def test_rows_show_where_ways_branch():
    #      ┌ 2 ─ 4
    # 0 ─ 1┤           rows of ends: 4, 3, 5
    #  └ 5 └ 3
    rows = tree.rows([-1, 0, 1, 1, 2, 0])
    assert rows.tolist() == [1.25, 0.5, 0, 1, 0, 2]
    deep = tree.rows([-1, *range(5000)])
    assert not deep.any(), "one way, one row, however long"


def test_reading_imports_no_torch():
    code = (
        "import sys, spotter.explore.shelf, spotter.explore.map, spotter.explore.tree\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
