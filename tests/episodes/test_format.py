"""Traces on disk: whole or not at all, read piece by piece, safe to open."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from spotter.episodes import format as traces
from spotter.episodes import labels
from spotter.episodes.format import Frames, Trace, load, place, save
from spotter.episodes.rows import table
from spotter.rundir.files import StorageError
from spotter.rundir.run import Run
from spotter.types import UserError
from tests.episodes.making import meta, trace

PICTURES = [b"\xff\xd8 first", b"\xff\xd8 second", b"\xff\xd8 third"]


@pytest.fixture
def run(tmp_path) -> Run:
    (tmp_path / "20260101-000000-abcd").mkdir()
    return Run(tmp_path / "20260101-000000-abcd")


def test_what_is_saved_comes_back(run):
    stacked = np.arange(3 * 4 * 5 * 6, dtype=np.uint8).reshape(3, 4, 5, 6)
    made = trace(
        frames=Frames(PICTURES, b"\xff\xd8 end"),
        columns={"obs/camera/left": stacked, "mask": np.ones((3, 2), np.bool_)},
        stacks={"camera/left": 4},
        changes=("env.sticky=0.25",),
        final_value=float("nan"),
        settings={"algo": {"gamma": 0.9}, "list": [1, 2]},
    )
    folder = save(made, place(run, made.meta))
    assert folder == run.folder / "episodes" / "000000512-seed3-greedy"
    again = load(folder)
    assert replace(again.meta, final_value=0.0) == replace(made.meta, final_value=0.0)
    assert np.isnan(again.meta.final_value)
    assert set(again.columns) == set(made.columns)
    for name, column in made.columns.items():
        assert again.columns[name].dtype == column.dtype
        np.testing.assert_array_equal(again.columns[name], column)
    assert list(again.frames) == PICTURES
    assert again.frames[1:] == PICTURES[1:]
    assert again.frames[-1] == PICTURES[-1]
    assert again.frames.final == b"\xff\xd8 end"
    np.testing.assert_array_equal(again.observations["camera/left"], stacked)
    assert sorted(path.name for path in folder.iterdir()) == [
        "arrays.npz",
        "frames.zip",
        "trace.json",
    ]


def test_an_environment_without_pictures_has_no_frames(run):
    folder = save(trace(), place(run, meta()))
    assert not (folder / "frames.zip").exists()
    assert len(load(folder).frames) == 0
    assert load(folder).frames.final == b""


def test_a_second_trace_of_the_same_name_gets_a_number_and_the_first_stays(run):
    first = save(trace(reward=(1, 1, 1)), place(run, meta()))
    second = save(trace(reward=(2, 2, 2)), place(run, meta()))
    assert second.name == f"{first.name}-2"
    assert load(first).meta.score == 3
    assert load(second).meta.score == 6
    assert traces.find(run, second.name) == second


def test_the_listing_is_newest_first_and_holds_traces_only(run):
    assert traces.listing(run) == []
    old = save(trace(), place(run, meta()))
    new = save(trace(seed=4), place(run, meta(seed=4)))
    os.utime(old / "trace.json", (1, 1))
    for name in ("notes", ".draft", "000000512-seed9-greedy"):
        (run.folder / "episodes" / name).mkdir()
    assert traces.listing(run) == [new, old]
    shutil.rmtree(run.folder)
    assert traces.listing(run) == []


@pytest.mark.parametrize("name", ["..", "../..", "/etc", "nothing", "000000512-seed9-greedy", ""])
def test_a_name_that_is_no_trace_reaches_no_file(run, name):
    (run.folder / "trace.json").write_text("{}")
    with pytest.raises(UserError, match="has no episode"):
        traces.find(run, name)


@pytest.mark.parametrize(
    "damage",
    ["json", "version", "arrays", "frames", "gone", "pickle", "length", "score", "mode", "short"],
)
def test_a_damaged_trace_is_one_sentence(run, damage):
    folder = save(trace(frames=Frames(PICTURES)), place(run, meta()))
    if damage == "json":
        (folder / "trace.json").write_text("{")
    elif damage == "version":
        data = json.loads((folder / "trace.json").read_text())
        (folder / "trace.json").write_text(json.dumps({**data, "version": 99}))
    elif damage in ("length", "score", "mode"):
        data = json.loads((folder / "trace.json").read_text())
        (folder / "trace.json").write_text(json.dumps({**data, damage: "?"}))
    elif damage == "short":
        np.savez(folder / "arrays.npz", action=np.zeros(1), reward=np.zeros(1))
    elif damage in ("arrays", "frames"):
        path = folder / {"arrays": "arrays.npz", "frames": "frames.zip"}[damage]
        path.write_bytes(path.read_bytes()[:40])
    elif damage == "pickle":
        np.savez(folder / "arrays.npz", action=np.array([{"a": 1}], dtype=object))
    else:
        shutil.rmtree(folder)
    with pytest.raises(UserError, match="cannot be read") as caught:
        load(folder).columns["action"]
    assert "\n" not in str(caught.value)


def test_pictures_deleted_under_a_reader_are_one_sentence(run):
    again = load(save(trace(frames=Frames(PICTURES)), place(run, meta())))
    shutil.rmtree(run.folder)
    with pytest.raises(UserError, match="cannot be read"):
        again.frames[0]
    with pytest.raises(UserError, match="cannot be read"):
        again.columns["action"]


def test_p38_a_disk_that_refuses_leaves_nothing_half_written(run, monkeypatch):
    def refuse(*_args, **_more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", refuse)
    with pytest.raises(StorageError, match="No space left"):
        save(trace(), place(run, meta()))
    assert list((run.folder / "episodes").iterdir()) == []


def test_a_trace_that_contradicts_itself_is_not_written(run):
    with pytest.raises(AssertionError, match="value has 2 rows"):
        save(trace(value=(1, 2)), place(run, meta()))
    with pytest.raises(AssertionError, match="an image"):
        save(trace(frames=Frames(PICTURES[:1])), place(run, meta()))


def test_columns_are_read_one_by_one(run, monkeypatch):
    folder = save(trace(columns={"obs/obs": np.zeros((3, 4))}), place(run, meta()))
    read = []
    real = np.lib.npyio.NpzFile.__getitem__
    monkeypatch.setattr(
        np.lib.npyio.NpzFile, "__getitem__", lambda s, key: read.append(key) or real(s, key)
    )
    again = load(folder)
    assert "obs/obs" in again.columns
    assert "nothing" not in again.columns
    for _ in range(2):
        assert again.columns["reward"].tolist() == [1, 0, 2]
    assert read == ["reward"]
    with pytest.raises(KeyError):
        again.columns["nothing"]


@pytest.mark.parametrize(
    ("fields", "action", "words"),
    [
        ({}, 1, "right"),
        ({"action_names": ()}, 1, "1"),
        ({"action_kind": "binary", "action_names": ("a", "b", "c")}, [1, 0, 1], "a + c"),
        ({"action_kind": "binary", "action_names": ("a", "b")}, [0, 0], "nothing"),
        ({"action_kind": "binary", "action_names": ()}, [0, 1], "1"),
        ({"action_kind": "box", "action_names": ("gas",)}, [0.5], "gas +0.50"),
        ({"action_kind": "box", "action_names": ()}, [0.5, -1], "+0.50  -1.00"),
        ({"action_kind": "multi_discrete", "action_names": ("x", "y")}, [2, 0], "x 2, y 0"),
    ],
)
def test_actions_in_words(fields, action, words):
    assert labels.label(meta(**fields), np.array(action)) == words


def test_choices_of_an_action_with_several_parts():
    many = meta(action_kind="multi_discrete", action_names=("move", "turn"), nvec=(2, 3))
    assert labels.choices(many) == ("move 0", "move 1", "turn 0", "turn 1", "turn 2")
    assert labels.choices(meta()) == ("left", "right")


def test_the_table_has_a_row_per_step_and_leaves_pictures_out():
    made = trace(
        parts=("env",),
        info=("lives",),
        columns={"obs/obs": np.zeros((3, 4, 84, 84), np.uint8), "obs/speed": np.ones((3, 2))},
    )
    header, *rows = table(made, {"advantage": np.array([0.5, 0.25, 0.125])})
    assert len(rows) == 3
    first = dict(zip(header, rows[0], strict=True))
    assert first["action"] == "left"
    assert first["choice"] == 0
    assert first["probability/left"] == 0.75
    assert first["part/env"] == first["reward"] == 1.0
    assert first["info/lives"] == 0
    assert first["obs/speed/1"] == 1
    assert first["advantage"] == 0.5
    assert not any(name.startswith("obs/obs") for name in header)


def test_reading_traces_needs_no_torch():
    code = (
        "import sys, spotter.episodes.format, spotter.episodes.advantages, spotter.episodes.audit, "
        "spotter.episodes.vision, spotter.cli.inspect; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_trace_made_by_hand_needs_no_pictures():
    assert len(Trace(meta(), {}).frames) == 0


def test_an_equal_episode_is_stored_once(run):
    made = trace()
    there = save(made, place(run, made.meta))
    assert save(made, place(run, made.meta)) == there
    others = [
        trace(reward=(1.0, 0.0, 3.0)),
        trace(end="truncated"),
        trace(changes=("env.sticky=0.25",)),
        trace(frames=Frames([b"a", b"b", b"c"])),
    ]
    kept = [save(other, place(run, other.meta)).name for other in others]
    assert kept == [f"{there.name}-{number}" for number in (2, 3, 4, 5)]
    assert [save(other, place(run, other.meta)).name for other in others] == kept
    person = trace(mode="human")
    places = {save(person, place(run, person.meta)) for _ in range(2)}
    assert len(places) == 2, "a person who does the same twice has played twice"


def test_a_damaged_copy_is_no_reason_to_store_nothing(run):
    made = trace()
    there = save(made, place(run, made.meta))
    (there / "arrays.npz").write_bytes(b"no zip")
    assert save(made, place(run, made.meta)).name == f"{there.name}-2"
