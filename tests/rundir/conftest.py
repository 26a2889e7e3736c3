"""Run folders without training, in a folder of runs of one's own."""

import json

import pytest

from spotter.rundir.run import Run
from tests.rundir.making import maker


@pytest.fixture(autouse=True)
def own_folder(runs_elsewhere, tmp_path, monkeypatch):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path / "runs"))


@pytest.fixture
def make_run(make_config):
    return maker(make_config)


@pytest.fixture
def edit():
    """Change run.json behind everybody's back."""

    def change(run: Run, **fields) -> None:
        path = run.folder / "run.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))

    return change
