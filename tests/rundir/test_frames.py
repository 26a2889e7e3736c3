"""Runs and metrics as data frames."""

import importlib

import pytest

from spotter.rundir import frames
from spotter.rundir.registry import listing
from spotter.types import UserError


def test_metrics_as_a_frame(make_run):
    run = make_run()
    run.metrics_path.write_text(
        '{"update": 1, "env_steps": 10, "x": 0.1}\n{"update": 2, "env_steps": 20, "y": "nan"}\n'
    )
    frame = run.frame()
    assert list(frame["env_steps"]) == [10, 20]
    assert frame["x"].isna().tolist() == [False, True]
    assert frame["x"][0] == 0.1
    assert make_run().frame().empty


def test_runs_as_a_frame_newest_first(make_run):
    first = make_run(score=1.5, solved=False)
    second = make_run("Acrobot-v1", score=None, parent={"run": first.id})
    second.tag("good")
    frame = frames.of_runs(listing().infos)
    assert list(frame.index) == [second.id, first.id]
    assert frame.loc[first.id, "score"] == 1.5
    assert frame["score"].dtype == float
    assert list(frame[frame["env"] == "Acrobot-v1"]["parent"]) == [first.id]
    assert frame.loc[second.id, "tags"] == ["good"]
    assert frame["created"].dt.tz is not None
    assert (frame["ended"] >= frame["created"]).all()
    assert frame[frame["solved"].fillna(True)].index.tolist() == [second.id]


def test_from_python(make_run):
    import spotter

    run = make_run(score=1.5)
    run.tag("good")
    assert spotter.runs()["score"].to_dict() == {run.id: 1.5}
    assert spotter.run("good") == run


def test_no_runs_are_an_empty_frame_with_every_column():
    frame = frames.of_runs(())
    assert frame.empty
    assert {"env", "score", "created"} <= set(frame.columns)


def test_without_pandas_one_sentence_says_how_to_get_it(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(
        UserError, match=r"pandas is not installed: pip install 'spotter-rl\[frames\]'"
    ):
        frames.of_runs(())
