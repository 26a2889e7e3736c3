"""Folders that older versions wrote are read for ever: one of each format is kept here."""

import shutil
from pathlib import Path

import pytest

from spotter.config import validate
from spotter.rundir import checkpoints, identity
from spotter.rundir.registry import listing
from spotter.rundir.run import FORMAT, Run, home

MUSEUM = Path(__file__).parents[1] / "museum"
EXHIBITS = sorted(MUSEUM.glob("format*/*"))


@pytest.fixture(params=EXHIBITS, ids=lambda path: path.parent.name)
def exhibit(request) -> Run:
    """A copy in the folder of runs."""
    shutil.copytree(request.param, home() / request.param.name)
    return Run(home() / request.param.name)


def test_every_older_format_has_an_exhibit():
    shown = {int(path.parent.name.removeprefix("format")) for path in EXHIBITS}
    assert set(range(1, FORMAT)) <= shown


def test_run_config_metrics_and_events_load(exhibit):
    info = exhibit.info()
    assert identity.defaults().keys() <= info.keys()
    assert info["status"] == "finished"
    assert listing().infos == (info,)
    assert validate(exhibit.settings()).env.id == info["env"]
    rows = list(exhibit.metrics())
    assert rows[-1]["env_steps"] == info["env_steps"]
    assert all(isinstance(row["loss/total"], float) for row in rows)
    (test,) = (found for found in exhibit.evaluations() if found["seeds"] == "test")
    assert test["score"] == info["score"] == sum(test["scores"]) / len(test["scores"])
    (checkpoint,) = checkpoints.read(exhibit.folder)
    assert checkpoint.roles == ("best", "latest")
    assert checkpoint.scores["test"] == info["score"]


def test_going_on_makes_it_a_run_of_today(exhibit):
    config = validate(exhibit.settings())
    steps = next(exhibit.metrics())["env_steps"]
    exhibit.resume(["spotter"], steps, config)
    info = exhibit.info()
    assert (info["format"], info["status"], info["env_steps"]) == (FORMAT, "running", steps)
    assert [row["env_steps"] for row in exhibit.metrics()] == [steps]
    assert exhibit.evaluations() == []


def test_the_museum_stays_small():
    assert sum(path.stat().st_size for path in MUSEUM.rglob("*") if path.is_file()) < 200_000
