"""Go-Explore: cells, the tree of ways, and explorations that are resumed and replayed exactly."""

import json

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces as gs

from spotter.explore import archive as keeping
from spotter.explore import cells
from spotter.explore.archive import Archive, Node
from spotter.explore.go import Exploration, Settings
from spotter.system.interrupts import Interrupts
from spotter.types import UserError

KEY = 3


class Rooms(gym.Env):
    """A corridor of 40 places: a key at place 3 is worth 1, the door at 39 opens with it, 10."""

    observation_space = gs.Box(0, 50, (2,), np.float32)
    action_space = gs.Discrete(3)
    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.has_key, self.is_open = 5, False, False
        return self.seen(), {"lives": 1}

    def step(self, action):
        self.place = min(max(self.place + int(action) - 1, 0), 39)
        reward = 0.0
        if self.place == KEY and not self.has_key:
            self.has_key, reward = True, 1.0
        if self.place == 39 and self.has_key and not self.is_open:
            self.is_open, reward = True, 10.0
        return self.seen(), reward, self.place == 0, False, {"lives": int(self.place > 0)}

    def seen(self):
        return np.array([self.place, self.has_key], np.float32)

    def render(self):
        picture = np.zeros((80, 110, 3), np.uint8)
        picture[:40, 10 * (self.place // 4) : 10 * (self.place // 4) + 10] = 255
        picture[40:] = 255 * self.has_key
        return picture


if "GoRooms-v0" not in gym.registry:
    gym.register("GoRooms-v0", Rooms)


def settings(**changes):
    env = {"id": "tests.explore.test_go:GoRooms-v0", "family": "gymnasium"}
    return Settings(**{"env": env, "cells": "frames", "steps": 20, **changes})


def explored(folder, starts, **changes):
    exploration = Exploration(folder, settings(**changes))
    with Interrupts() as interrupts:
        interrupts.begin()
        exploration.run(lambda now: now.starts >= starts, interrupts)
    return exploration


def content(archive):
    """What does not depend on how nodes are numbered."""
    return {
        cell: (archive.way(one.node), archive.nodes[one.node].score, one.visits, one.chosen)
        for cell, one in archive.entries.items()
    }


def test_it_finds_what_random_play_does_not(tmp_path):
    found = explored(tmp_path, 600)
    assert found.progress.score == 11.0
    way = found.archive.way(found.archive.best)
    env = Rooms()
    env.reset(seed=1)
    rewards = [env.step(action)[1] for action in way]
    assert sum(rewards) == 11.0 and rewards[-1] == 10.0, "the way is what it says"
    assert len(way) == found.archive.nodes[found.archive.best].length
    for entry in found.archive.entries.values():
        env.reset(seed=1)
        for action in found.archive.way(entry.node):
            env.step(action)
        assert found.archive.entries[cells.of_frame(env.render())] is entry


def test_a_resumed_exploration_is_the_same(tmp_path):
    whole = explored(tmp_path / "whole", 120)
    explored(tmp_path / "parts", 50).close()
    resumed = explored(tmp_path / "parts", 120)
    assert content(resumed.archive) == content(whole.archive)
    assert list(resumed.archive.entries) == list(whole.archive.entries)
    assert resumed.progress.starts == 120


def test_states_and_actions_lead_to_the_same_place(tmp_path):
    pytest.importorskip("ale_py")
    env = {"id": "ALE/MontezumaRevenge-v5", "family": "atari", "protocol": "ale-v5",
           "observe": "ram", "sticky": 0.0, "stack": 1}  # fmt: skip
    how = cells.suited_to("ALE/MontezumaRevenge-v5")
    found = explored(tmp_path / "a", 12, env=env, cells=how, steps=40)
    assert len(found.archive.entries) > 5
    for cell, entry in found.archive.entries.items():
        found._states.clear()
        found._return_to(entry.node)
        assert found.game.look() == cell
    rooms = {cells.named(how, cell)["room"] for cell in found.archive.entries}
    assert rooms == {1}
    found.close()


def test_an_archive_keeps_the_best_way_and_what_leads_on_from_the_old_one():
    archive = Archive()
    archive.begin(b"start")
    first = archive.keep(b"a", Node(0, np.array([1, 1], np.int16), 0.0, 2))
    archive.keep(b"b", Node(first, np.array([2], np.int16), 1.0, 3))
    assert not archive.is_better(b"a", 0.0, 2)
    assert archive.is_better(b"a", 0.0, 1) and archive.is_better(b"a", 5.0, 9)
    archive.keep(b"a", Node(0, np.array([0], np.int16), 0.0, 1))
    assert archive.way(archive.entries[b"a"].node) == [0]
    assert archive.way(archive.entries[b"b"].node) == [1, 1, 2]
    kept, _ = archive.pruned()
    assert kept == [0, 1, 2, 3]
    archive.keep(b"b", Node(archive.entries[b"a"].node, np.array([2], np.int16), 1.0, 2))
    assert len(archive.pruned()[0]) == 3, "the old way leads nowhere now"


def test_rarely_visited_cells_are_started_from_first():
    archive = Archive()
    archive.begin(b"often")
    archive.keep(b"rare", Node(0, np.zeros(1, np.int16), 0.0, 1))
    archive.entries[b"often"].visits = archive.entries[b"often"].chosen = 99
    often, rare = archive.weights()
    assert rare == pytest.approx(2 / (2 + 0.2), abs=0.01) and often + rare == pytest.approx(1)


def test_other_settings_need_another_folder(tmp_path):
    explored(tmp_path, 2)
    with pytest.raises(UserError, match="other settings; name another folder with --out"):
        explored(tmp_path, 2, seed=2)


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "loop"])
def test_a_damaged_archive_is_one_sentence(tmp_path, damage):
    explored(tmp_path, 5)
    file = tmp_path / keeping.FILE
    data = file.read_bytes()
    if damage == "loop":
        with np.load(file) as old:
            entries = {name: old[name] for name in old.files}
        entries["parent"][1] = 1
        np.savez(file, **entries)
    else:
        garbled = {"empty": b"", "cut": data[: len(data) // 2], "text": b"hello"}
        file.write_bytes(garbled[damage])
    with pytest.raises(UserError, match="is no archive that can be read"):
        explored(tmp_path, 5)


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("colour", "by frames or by ram"),
        ("ram:x=200", "'x=200' names no byte of memory"),
        ("ram:x=2/0", "'x=2/0' names no byte"),
        ("ram:x=2", "need the memory of an Atari console; write frames"),
    ],
)
def test_cells_that_cannot_be_told_apart(tmp_path, how, sentence):
    with pytest.raises(UserError, match=sentence):
        explored(tmp_path, 1, cells=how)
    assert not list(tmp_path.iterdir())


def test_an_interrupt_saves(tmp_path):
    exploration = Exploration(tmp_path, settings())
    with Interrupts() as interrupts:
        interrupts.begin()

        def is_done(now):
            if now.starts == 3:
                interrupts.requested = "interrupted"
            return False

        exploration.run(is_done, interrupts)
    _, about = keeping.load(tmp_path)
    assert about["starts"] == 3 and json.dumps(about)


def test_games_need_a_list_of_actions(tmp_path):
    with pytest.raises(UserError, match="takes games with a list of actions, and Pendulum-v1"):
        explored(tmp_path, 1, env={"id": "Pendulum-v1", "family": "gymnasium"})
