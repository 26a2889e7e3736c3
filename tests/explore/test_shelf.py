"""Archives from anywhere: found by name inside their folder only, and read within limits."""

import io
import json
import zipfile

import numpy as np
import pytest

from spotter.explore import archive as keeping
from spotter.explore import arrays, show
from spotter.explore.archive import FILE
from spotter.explore.shelf import Shelf, home, stamp
from spotter.types import UserError
from tests.explore.test_go import explored

DAMAGE = {
    "a node does not come after its parent": lambda d: d["parent"].__setitem__(1, -1),
    "its actions are not those of its nodes": lambda d: d["count"].__setitem__(1, 9999),
    "a way is not as long as its actions": lambda d: d["length"].__setitem__(1, 9999),
    "a score is no number": lambda d: d["score"].__setitem__(1, np.nan),
    "a cell has no way": lambda d: d["node"].__setitem__(1, 9999),
    "a cell is not what its settings say": lambda d: d["visits"].__setitem__(1, 0),
    "it holds a cell twice": lambda d: d["cell"].__setitem__(1, d["cell"][0]),
    "parent holds float64": lambda d: d.__setitem__("parent", d["parent"] * 1.0),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A small exploration; tests copy it."""
    folder = tmp_path_factory.mktemp("made") / "explored" / "rooms"
    explored(folder, 30).close()
    return folder


@pytest.fixture
def shelf(tmp_path, made):
    for name in ("one", "two"):
        copied(made, tmp_path / "explored" / name)
    return Shelf(tmp_path / "explored")


def copied(made, folder):
    folder.mkdir(parents=True)
    (folder / FILE).write_bytes((made / FILE).read_bytes())
    return folder


def changed(folder, change):
    with np.load(folder / FILE) as old:
        data = {name: old[name].copy() for name in old.files}
    change(data)
    np.savez_compressed(folder / FILE, **data)


def test_it_lies_beside_the_runs(monkeypatch, tmp_path):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path / "runs"))
    assert home() == tmp_path / "explored"
    monkeypatch.delenv("SPOTTER_RUNS")
    assert home().as_posix() == "explored"


def test_a_list_says_what_the_archive_says(shelf):
    found, problems = shelf.listed()
    archive, about = keeping.load(shelf.folder("one"))
    assert {one.name for one in found} == {"one", "two"} and not problems
    glance = found[0].glance
    assert glance.cells == len(archive.entries) and glance.about == about
    assert glance.best == archive.nodes[archive.best].score


def test_the_list_notices_what_is_saved_damaged_and_deleted(shelf):
    shelf.listed()
    (shelf.root / "one" / FILE).write_bytes(b"hello")
    changed(shelf.root / "two", lambda d: d["score"].__setitem__(slice(None), 77.0))
    found, problems = shelf.listed()
    assert [one.glance.best for one in found] == [77.0]
    assert list(problems) == ["one"] and "is no archive that can be read" in problems["one"]
    (shelf.root / "two" / FILE).unlink()
    assert shelf.listed()[0] == []
    assert Shelf(shelf.root / "nowhere").listed() == ([], {})


@pytest.mark.parametrize("name", ["..", "../one", "/etc", ".hidden", "a/b", "", "x" * 400, "C:\\x"])
def test_only_names_lead_to_explorations(shelf, name):
    with pytest.raises(UserError, match="is not the name of an exploration"):
        shelf.folder(name)


def test_a_misspelled_name_is_told_the_nearest(shelf):
    with pytest.raises(UserError, match=r"there is no exploration twoo in .*did you mean.*two"):
        shelf.folder("twoo")


def test_links_lead_nowhere(shelf, made):
    (shelf.root / "linked").symlink_to(made, target_is_directory=True)
    (shelf.root / "file").mkdir()
    (shelf.root / "file" / FILE).symlink_to(made / FILE)
    for name in ("linked", "file"):
        with pytest.raises(UserError, match="holds a link out of"):
            shelf.folder(name)
    assert {one.name for one in shelf.listed()[0]} == {"one", "two"}


def test_a_stamp_changes_with_each_save(shelf):
    before = stamp(shelf.folder("one"))
    assert stamp(shelf.folder("one")) == before
    changed(shelf.root / "one", lambda d: d["visits"].__setitem__(0, 5))
    assert stamp(shelf.folder("one")) != before


@pytest.mark.parametrize("sentence", DAMAGE)
def test_what_makes_no_sense_is_refused(shelf, sentence):
    changed(shelf.root / "one", DAMAGE[sentence])
    with pytest.raises(UserError, match=f"no archive that can be read: ValueError: {sentence}"):
        keeping.load(shelf.folder("one"))


def about(folder, **changes):
    def change(data):
        said = json.loads(str(data["about"])) | changes
        data["about"] = np.array(json.dumps(said))

    changed(folder, change)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"format": 99}, "was written by a newer version of Spotter"),
        ({"settings": {"env": {}, "cells": "frames", "seed": 1, "steps": 1}}, "damaged: env.id"),
        ({"settings": {"env": {"id": "a"}, "cells": 7, "seed": "1", "steps": 1}}, "cells, seed"),
        ({"settings": None}, "TypeError"),
        ({"seconds": float("nan")}, "damaged: seconds"),
    ],
)
def test_what_is_said_about_it_must_make_sense(shelf, changes, sentence):
    about(shelf.root / "one", **changes)
    for read in (keeping.load, keeping.glance):
        with pytest.raises(UserError, match=sentence):
            read(shelf.root / "one")


def test_more_than_fits_is_not_unpacked(shelf, monkeypatch):
    changed(shelf.root / "one", lambda d: d.__setitem__("actions", np.zeros(10**7, np.int16)))
    assert (shelf.root / "one" / FILE).stat().st_size < 100_000, "it is packed well"
    monkeypatch.setattr(arrays, "_array", pytest.fail)
    with pytest.raises(ValueError, match=r"have 20,0.* bytes, of 1,000,000 at the most"):
        arrays.read(shelf.root / "one" / FILE, {"actions": ("i", 1)}, 10**6)


def test_a_header_that_claims_too_much_is_refused(tmp_path):
    """NumPy would ask for as much memory as is claimed."""
    stream = io.BytesIO()
    header = {"descr": "<i4", "fortran_order": False, "shape": (2**40,)}
    np.lib.format.write_array_header_1_0(stream, header)
    path = tmp_path / "big.npz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("node.npy", stream.getvalue() + bytes(8))
    with pytest.raises(ValueError, match="reshape"):
        arrays.read(path, {"node": ("i", 1)})


def test_objects_are_not_unpickled(tmp_path):
    path = tmp_path / "objects.npz"
    np.savez(path, node=np.array([{}, 1], object))
    with pytest.raises(ValueError, match="node holds object"):
        arrays.read(path, {"node": ("i", 1)})


def test_an_archive_from_elsewhere_imports_nothing(shelf, made):
    """It names a module; one that was saved here is sealed, under its name."""
    _, said = keeping.load(made)
    show.check_trusted(made, said)
    with pytest.raises(UserError, match=r"not saved here and names env.id=tests.explore.test_go"):
        show.check_trusted(shelf.folder("one"), said)
    for damaged in ({"seal": "é"}, {"seal": None}, {"names": {}}, {"names": None}):
        with pytest.raises(UserError, match="not saved here"):
            show.check_trusted(made, said | damaged)
    plain = {"settings": {"env": {"id": "CartPole-v1", "family": "gymnasium"}}}
    show.check_trusted(shelf.folder("one"), plain)
