"""Runs of the compare page: their scores, and their family tree."""

import pytest

from spotter.rundir.history import History
from spotter.studio import groups as compared
from spotter.studio.groups import lineage
from tests.rundir.making import maker


@pytest.fixture
def make_run(make_config):
    return maker(make_config)


def info(name, parent=None, **more):
    written = {"run": parent, "env_steps": 640, "kind": "fork"} if parent else None
    return {"id": name, "parent": written, **more}


def test_scores_of_runs_do_not_need_their_rows(make_run, monkeypatch):
    run = make_run(scores=[1.0, 3.0])
    monkeypatch.setattr(History, "refresh", None)
    (found,) = compared.views([run])
    assert (found.score.mean, found.score.episodes) == (2, 2)


def test_a_lineage_is_the_whole_family_and_nobody_else():
    infos = [info("kid", "me"), info("sister", "root"), info("me", "root"), info("root")]
    infos.append(info("stranger"))
    found = {kin.id: kin for kin in lineage(["me"], infos)}
    assert list(found)[:2] == ["root", "me"]
    assert set(found) == {"root", "me", "kid", "sister"}
    assert found["me"].parent == "root"
    assert found["me"].how == "fork at 640 env steps"


def test_a_parent_that_was_deleted_is_a_ghost():
    found = lineage(["me"], [info("me", "gone")])
    assert [(kin.id, kin.info is None) for kin in found] == [("gone", True), ("me", False)]


def test_a_circle_of_parents_ends():
    found = lineage(["a"], [info("a", "b"), info("b", "a")])
    assert {kin.id for kin in found} == {"a", "b"}
