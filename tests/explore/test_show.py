"""Ways played again: the frames that exploring saw, and one sentence where that cannot be."""

import sys

import numpy as np
import pytest

from spotter.explore import cells, show, tree
from spotter.types import UserError
from tests.explore.test_go import Rooms, explored, settings


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    exploration = explored(tmp_path_factory.mktemp("shown"), 80)
    yield exploration
    exploration.close()


def pieces(archive, number):
    return [archive.nodes[one].actions.tolist() for one in tree.chain(archive, number)]


def test_frames_are_those_of_the_places_on_the_way(found):
    archive = found.archive
    for cell, entry in list(archive.entries.items())[-5:]:
        way = pieces(archive, entry.node)
        shown = show.frames(vars(found.settings), way, archive.nodes[entry.node].score, cell)
        assert shown.problem == "" and len(shown.frames) == len(way)
        env = Rooms()
        env.reset(seed=1)
        for actions, frame in zip(way, shown.frames, strict=True):
            for action in actions:
                env.step(action)
            np.testing.assert_array_equal(frame, env.render())
        assert cells.of_frame(shown.frames[-1]) == cell


def test_a_game_that_does_not_repeat_itself_is_noticed(found):
    archive = found.archive
    cell, entry = list(archive.entries.items())[-1]
    way, score = pieces(archive, entry.node), archive.nodes[entry.node].score
    at = vars(found.settings)
    assert "its score was" in show.frames(at, way, score + 1, cell).problem
    assert "it ended in another cell" in show.frames(at, way, score, bytes(88)).problem
    with pytest.raises(UserError, match="is another one: the game ended after 5 actions"):
        show.frames(at, [[0] * 5, [1]], 0.0)


def test_a_way_that_takes_too_long_is_given_up(found):
    with pytest.raises(UserError, match="of 200 actions takes longer than 0 s to play; 64 were"):
        show.frames(vars(found.settings), [[1] * 200], 0.0, within_s=0)


def test_a_missing_package_is_named_with_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "ale_py", None)
    how = {"env": {"id": "ALE/Pitfall-v5", "family": "atari"}, "seed": 1, "cells": "frames"}
    with pytest.raises(UserError, match=r"ale_py is not installed: pip install .*atari"):
        show.frames(how, [[]], 0.0)


def test_a_film_shows_the_way(found, tmp_path):
    archive = found.archive
    made = show.film(vars(found.settings), archive.way(archive.best), tmp_path / "best.mp4")
    assert made.path.is_file() and made.score == archive.nodes[archive.best].score
    silent = vars(settings(env={"id": "CartPole-v1", "family": "gymnasium", "kwargs": {"x": 1}}))
    with pytest.raises(UserError, match="CartPole-v1 cannot be filmed"):
        show.film(silent, [1], tmp_path / "none.mp4")
