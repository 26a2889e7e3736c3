"""A run of unknown origin is diagnosed and digested without importing what its files name."""

import json
import os
import re
import sys

import pytest

from spotter.diagnose.doctor.run import diagnose
from spotter.pages.digest.page import digest

CODE = "import os; os.environ['HARMED'] = '1'"


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A module that tells if somebody imported it."""
    (tmp_path / "evil").mkdir()
    for name in ("__init__.py", "module.py"):
        (tmp_path / "evil" / name).write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("HARMED", "")
    forget()
    yield
    forget()


def forget():
    """A module that was imported once would not tell again."""
    for name in ("evil", "evil.module"):
        sys.modules.pop(name, None)


ADDRESSES = {
    "package": "evil:Foo-v0",
    "package_algo": "evil:Foo-v0:ppo",
    "module": "evil.module:CartPole-v1:ppo",
    "algo": "CartPole-v1:evil.module",
    "no_recipe": "evil.module",
    "file": "evil.yaml:ppo",
}


def addressed(made, address):
    run = made("failed-lr-too-high")
    path = run.folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"address": address}))
    return run


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=list(ADDRESSES))
def test_its_address_is_not_followed(made, evil, address):
    run = addressed(made, address)
    diagnosis = diagnose(run, trusted=False)
    assert diagnosis.problems[0].overrides == ("algo.lr=0.001",)
    assert diagnosis.command is None
    assert "Try first" not in digest(run)
    assert not os.environ["HARMED"]


def test_ones_own_is(made, evil):
    """What the others are safe from."""
    diagnose(addressed(made, ADDRESSES["package"]))
    assert os.environ["HARMED"]


def test_a_recipe_keeps_its_command(made):
    diagnosis = diagnose(made("failed-lr-too-high"), trusted=False)
    assert diagnosis.command.startswith("spotter train CartPole-v1:ppo ")


SETTINGS = {
    "family": ("family: classic", "family: evil.module"),
    "algo": ("name: ppo", "name: evil.module"),
    "algo_text": (r"algo:\n(  .*\n)+", "algo: evil.module\n"),
    "encoder": ("encoder: auto", "encoder: evil.module"),
    "wrapper": (r"wrappers: \[\]", "wrappers: [{name: evil.module}]"),
    "wrapper_text": (r"wrappers: \[\]", "wrappers: [evil.module]"),
    "signal": (r"signals: \[\]", "signals: [{source: evil.module}]"),
    "env_id": ("id: CartPole-v1", 'id: "evil:CartPole-v1"'),
}


@pytest.mark.parametrize("change", SETTINGS.values(), ids=list(SETTINGS))
def test_its_settings_import_nothing(made, evil, change):
    run = made("failed-lr-too-high", [change])
    diagnosis = diagnose(run, trusted=False)
    assert diagnosis.command is None and diagnosis.not_checked[0].startswith("settings")
    text = digest(run, tokens=8000)
    assert re.search("Not checked by the doctor: settings", text)
    assert not os.environ["HARMED"]


def test_damaged_settings(made):
    run = made("failed-lr-too-high")
    (run.folder / "config.yaml").write_text("algo: {")
    diagnosis = diagnose(run, trusted=False)
    assert diagnosis.problems[0].id == "lr-too-high"
    assert "settings, which this version cannot read" in diagnosis.not_checked[0]
