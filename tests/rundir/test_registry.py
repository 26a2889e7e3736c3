"""The list of runs: right whatever happened to the folders or to the index."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from spotter.rundir import registry
from spotter.rundir.registry import INDEX, listing, reindex
from spotter.rundir.run import all_runs, home, select
from spotter.types import UserError


def indexed() -> dict[str, dict]:
    """What the index holds, read as anybody would."""
    with closing(sqlite3.connect(home() / INDEX)) as index:
        return {name: json.loads(info) for name, info in index.execute("SELECT id, info FROM runs")}


def ids() -> list[str]:
    return [info["id"] for info in listing().infos]


def age(run, seconds=1000) -> None:
    """As if it had been written a while ago, so that the index trusts what it saw."""
    path = run.folder / "run.json"
    stamp = path.stat().st_mtime_ns - seconds * 10**9
    os.utime(path, ns=(stamp, stamp))


def test_newest_first_and_the_index_holds_the_same(make_run):
    runs = [make_run() for _ in range(3)]
    assert ids() == [run.id for run in reversed(runs)]
    assert [run.id for run in all_runs()] == ids()
    assert indexed() == {info["id"]: info for info in listing().infos}


def test_an_empty_folder_stays_empty():
    assert listing().infos == ()
    assert not home().exists()
    home().mkdir()
    assert listing().infos == ()
    assert list(home().iterdir()) == []


def test_changed_copied_and_deleted_folders_are_noticed(make_run, edit):
    first, second = make_run(score=1.0), make_run()
    for run in (first, second):
        age(run)
    listing()
    edit(first, score=2.0)
    shutil.copytree(second.folder, home() / "a-copy")
    shutil.rmtree(second.folder)
    scores = {info["id"]: info["score"] for info in listing().infos}
    assert scores == {first.id: 2.0, "a-copy": None}
    assert set(indexed()) == {first.id, "a-copy"}


def test_folders_that_did_not_change_are_not_read_again(make_run, monkeypatch):
    old, young = make_run(), make_run()
    age(old)
    listing()
    read = []
    real = registry.identity.read
    monkeypatch.setattr(registry.identity, "read", lambda f: read.append(f.name) or real(f))
    listing()
    assert read == [young.id]
    old.tag("found")
    assert {info["id"]: info["tags"] for info in listing().infos}[old.id] == ["found"]


def test_a_change_too_quick_for_the_clock_of_the_file_system_is_noticed(make_run):
    run = make_run(reason="first")
    path = run.folder / "run.json"
    stamp = path.stat().st_mtime_ns
    assert listing().infos[0]["reason"] == "first"
    with path.open("r+") as file:  # same file, same size, same time
        text = file.read().replace('"first"', '"later"')
        file.seek(0)
        file.write(text)
    os.utime(path, ns=(stamp, stamp))
    assert listing().infos[0]["reason"] == "later"


def _as_garbage(path):
    path.write_bytes(b"\x00 this is no database " * 1000)


def _as_half(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _as_empty(path):
    path.write_bytes(b"")


def _as_folder(path):
    path.unlink()
    path.mkdir()


def _as_other_table(path):
    path.unlink()
    with closing(sqlite3.connect(path)) as index:
        index.execute("CREATE TABLE runs (name TEXT)")
        index.execute("PRAGMA user_version = 2")


def _as_other_version(path):
    with closing(sqlite3.connect(path)) as index:
        index.execute("PRAGMA user_version = 1")
        index.execute("UPDATE runs SET info = '{}'")
        index.commit()


def _as_nonsense(path):
    with closing(sqlite3.connect(path)) as index:
        index.execute("UPDATE runs SET info = 'nonsense'")
        index.commit()


DAMAGE = [
    _as_garbage, _as_half, _as_empty, _as_folder, _as_other_table, _as_other_version, _as_nonsense,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__[4:])
def test_a_damaged_index_is_built_anew(make_run, damage):
    runs = [make_run() for _ in range(3)]
    for run in runs:
        age(run)
    listing()
    damage(home() / INDEX)
    assert set(ids()) == {run.id for run in runs}
    if damage is not _as_folder:  # which is somebody's; it is left alone
        assert set(indexed()) == {run.id for run in runs}


def test_an_index_that_cannot_be_written_harms_nobody(make_run, monkeypatch):
    def locked(*args, **kwargs):
        raise sqlite3.OperationalError("database is locked")

    run = make_run()
    monkeypatch.setattr(sqlite3, "connect", locked)
    assert ids() == [run.id]
    assert sorted(path.name for path in home().iterdir()) == [run.id]


def test_training_never_touches_the_index(make_run):
    run = make_run(status="running")
    run.update(env_steps=3)
    run.event("note", {"text": "x"})
    run.finish("finished")
    assert not (home() / INDEX).exists()


def test_what_cannot_be_read_is_named_and_does_not_hide_the_rest(make_run):
    good, bad = make_run(), make_run()
    (bad.folder / "run.json").write_text("{")
    (home() / "notes").mkdir()
    (home() / ".hidden").mkdir()
    found = listing()
    assert [info["id"] for info in found.infos] == [good.id]
    assert list(found.problems) == [bad.id]
    assert "is not a run" in found.problems[bad.id]
    with pytest.raises(UserError, match=f"{bad.id} is not a run"):
        select(bad.id)


def test_strange_numbers_come_back(make_run):
    make_run(score=float("nan"))
    for _ in range(2):
        (info,) = listing().infos
        assert info["score"] != info["score"]


def test_reindex_forgets_and_cleans_up(make_run):
    run = make_run()
    age(run)
    listing()
    with closing(sqlite3.connect(home() / INDEX)) as index:
        index.execute("UPDATE runs SET info = replace(info, 'CartPole-v1:ppo', 'a lie')")
        index.commit()
    (home() / f".{INDEX}.123-456.tmp").touch()
    assert listing().infos[0]["address"] == "a lie", "or this test proves nothing"
    assert reindex().infos[0]["address"] == "CartPole-v1:ppo"
    assert sorted(path.name for path in home().iterdir()) == [run.id, INDEX]


def test_removing_a_run_is_over_at_once(make_run, monkeypatch):
    run, other = make_run(), make_run()
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *args, **kwargs: None)  # cut short
        registry.remove(run.folder)
    assert ids() == [other.id]
    registry.remove(other.folder)
    assert not list(home().glob("*/run.json"))
    assert not list(home().glob(".deleted*")), "what was left before goes as well"


WORKER = """
import random, sys, time
from pathlib import Path
from spotter.config import validate
from spotter.rundir.registry import INDEX, listing, reindex
from spotter.rundir.run import Run, home
number, go = int(sys.argv[1]), Path(sys.argv[2])
config = validate({"env": {"id": "CartPole-v1", "family": "gymnasium"}, "algo": {"name": "ppo"}})
print("ready", flush=True)
while not go.exists():
    time.sleep(0.001)
mine = []
for turn in range(10):
    run = Run.create(config, f"worker-{number}")
    mine.append(run.id)
    for step in range(5):
        run.update(env_steps=step)
        run.event("note", {"text": "x"})
    run.tag(f"of-{number}")
    there = {info["id"]: info for info in listing().infos}
    assert set(mine) <= set(there), "a process always sees its own runs"
    assert there[run.id]["env_steps"] == 4
    run.finish("finished", env_steps=100 + turn, score=float(turn))
    if turn % 3 == number % 3:
        (home() / INDEX).unlink(missing_ok=True)
    if turn % 5 == number % 5:
        reindex()
print(" ".join(mine), flush=True)
"""


def test_eight_processes_at_once_lose_nothing(tmp_path):
    command = [sys.executable, "-c", WORKER]
    workers = [
        subprocess.Popen(
            [*command, str(number), str(tmp_path / "go")], stdout=subprocess.PIPE, text=True
        )
        for number in range(8)
    ]
    assert [worker.stdout.readline() for worker in workers] == ["ready\n"] * 8
    (tmp_path / "go").touch()
    made = [worker.communicate()[0].split() for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 8
    assert [len(found) for found in made] == [10] * 8
    infos = {info["id"]: info for info in listing().infos}
    assert len(infos) == 80
    for number, of_worker in enumerate(made):
        for turn, run_id in enumerate(of_worker):
            info = infos[run_id]
            assert (info["status"], info["env_steps"]) == ("finished", 100 + turn)
            assert (info["address"], info["tags"]) == (f"worker-{number}", [f"of-{number}"])
    folders = {path.parent.name for path in home().glob("*/run.json")}
    assert set(indexed()) == set(infos) == folders
    assert indexed() == infos
    assert not list(home().glob(".*")), "no litter"
