"""Runs that were trained here, runs from elsewhere, and what the latter may not import."""

import json
import os
import shutil
import time

import pytest

from spotter.pages.report import reproduce
from spotter.rundir import trust
from spotter.rundir.archive import export_run, import_run
from spotter.rundir.registry import remove
from spotter.rundir.run import Run
from spotter.rundir.trust import UntrustedError, trusting

NAMES = {"family": "tests.config.fake_family"}


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("SPOTTER_STATE", str(tmp_path / "state"))


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """Another user, or another machine."""

    def go(name="other"):
        monkeypatch.setenv("SPOTTER_STATE", str(tmp_path / name))

    return go


@pytest.fixture
def with_module(make_run):
    """A run whose environment family is a module of one's own."""
    return lambda: make_run(config={"env": NAMES})


def test_a_run_trained_here_is_no_stranger(with_module, make_run):
    for run in (with_module(), make_run()):
        assert not run.info()["foreign"]
        assert run.config()
    assert with_module().info()["names"] == {"env.family": "tests.config.fake_family"}


def test_a_module_without_a_dot_is_one_too(make_run, elsewhere, folder, monkeypatch):
    monkeypatch.syspath_prepend(".")
    folder("own_family.py", "from spotter.envs.families.classic import describe, make\n")
    run = make_run(config={"env": {"family": "own_family"}})
    assert run.info()["names"] == {"env.family": "own_family"}
    elsewhere()
    with pytest.raises(UntrustedError, match=r"env\.family=own_family"):
        run.config()


def test_a_run_from_elsewhere_names_nothing_unasked(with_module, elsewhere):
    run = with_module()
    elsewhere()
    assert run.info()["foreign"]
    with pytest.raises(UntrustedError) as refused:
        run.config()
    assert str(refused.value) == (
        f"run {run.id} was not trained here and names env.family=tests.config.fake_family, which "
        "could run code that is not part of Spotter"
    )
    with trusting():
        assert run.config().env.family == NAMES["family"]
    with pytest.raises(UntrustedError):
        run.config()


def test_a_run_from_elsewhere_that_names_nothing_is_read_as_ever(make_run, elsewhere):
    run = make_run()
    elsewhere()
    assert run.info()["foreign"] and run.config()


def test_an_imported_run_is_foreign_until_it_is_ones_own(with_module, elsewhere, tmp_path):
    run = with_module()
    export_run(run, tmp_path / "run.zip")
    remove(run.folder)
    elsewhere()
    run, is_new = import_run(tmp_path / "run.zip")
    assert is_new and run.info()["foreign"]
    elsewhere("state")
    assert not run.info()["foreign"], "back where it was trained"


def test_what_came_back_with_other_names_is_refused(with_module, tmp_path):
    """An exported run has its seal in it; it covers the names."""
    run = with_module()
    config = run.folder / "config.yaml"
    config.write_text(config.read_text().replace(NAMES["family"], "tests.config.evil"))
    with pytest.raises(UntrustedError, match=r"env\.family=tests\.config\.evil"):
        run.config()
    path = run.folder / "run.json"
    forged = json.loads(path.read_text()) | {"names": {"env.family": "tests.config.evil"}}
    path.write_text(json.dumps(forged))
    assert run.info()["foreign"]


def test_a_copy_under_another_name_is_foreign(with_module, tmp_path):
    run = with_module()
    copy = run.folder.with_name("copy")
    shutil.copytree(run.folder, copy)
    assert Run(copy).info()["foreign"]


@pytest.mark.parametrize("seal", ["", "0" * 64, "ü"])
def test_a_forged_seal(with_module, edit, seal):
    run = with_module()
    edit(run, seal=seal)
    assert run.info()["foreign"]


def unsealed(run: Run) -> None:
    """As older versions wrote it."""
    path = run.folder / "run.json"
    data = json.loads(path.read_text())
    del data["seal"], data["names"]
    path.write_text(json.dumps(data))


def test_runs_of_older_versions_keep_working(with_module, elsewhere, tmp_path):
    run = with_module()
    elsewhere("new")
    unsealed(run)
    assert not run.info()["foreign"], "there is no key yet"
    assert run.config()
    trust.marks("x", {})  # now there is one, made after the run came here
    key = tmp_path / "new" / "key"
    later = time.time() + 10
    os.utime(key, (later, later))
    assert not run.info()["foreign"] and run.config()


def test_a_run_of_an_older_version_that_came_later_is_foreign(with_module, elsewhere, tmp_path):
    run = with_module()
    elsewhere("new")
    trust.marks("x", {})
    long_ago = 1_000_000_000
    os.utime(tmp_path / "new" / "key", (long_ago, long_ago))
    unsealed(run)
    assert run.info()["foreign"]


def test_a_run_of_an_older_version_on_another_machine_is_foreign(with_module, elsewhere, edit):
    run = with_module()
    elsewhere("new")
    unsealed(run)
    edit(run, host="another-machine")
    assert run.info()["foreign"]


def test_a_resumed_run_is_ones_own(with_module, elsewhere, make_config):
    run = with_module()
    elsewhere()
    with trusting():
        config = run.config()
    run.resume(["spotter"], 100, config)
    run.finish("finished")
    assert not run.info()["foreign"] and run.config() == config


def test_without_a_home_that_can_be_written_to_runs_are_made_all_the_same(
    with_module, monkeypatch, tmp_path
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPOTTER_STATE", str(tmp_path / "file" / "below"))
    run = with_module()
    assert run.info()["seal"] == "" and run.info()["foreign"]


def test_the_key_is_the_users_own_and_stays(tmp_path):
    trust.marks("a", {})
    key = tmp_path / "state" / "key"
    before = key.read_text()
    assert len(before) == 64
    if os.name == "posix":
        assert key.stat().st_mode & 0o077 == 0
    trust.marks("b", {})
    assert key.read_text() == before
    assert [entry.name for entry in key.parent.iterdir()] == ["key"]


def test_reading_a_foreign_run_follows_neither_its_names_nor_its_address(with_module, elsewhere):
    run = with_module()
    info, settings = run.info(), run.settings()
    assert not reproduce.recipe(info, settings, changed=False).is_python
    elsewhere()
    info = run.info()
    assert reproduce.recipe(info, settings, changed=False).is_python
    assert not trust.may_resolve("evil:Env-v0", info)
    assert not trust.may_resolve("recipe.yaml:ppo", info)
    assert not trust.may_resolve("CartPole-v1:evil.module", info)
    assert trust.may_resolve("CartPole-v1:ppo", info)
    assert trust.may_resolve("Blackjack-v1:a2c", info)


def test_where_the_state_is_kept(monkeypatch, tmp_path):
    monkeypatch.delenv("SPOTTER_STATE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    for platform, place in {
        "linux": ".local/state/spotter",
        "darwin": "Library/Application Support/spotter",
    }.items():
        monkeypatch.setattr("sys.platform", platform)
        assert trust.state_folder() == tmp_path / place
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert trust.state_folder() == tmp_path / "local" / "spotter"
