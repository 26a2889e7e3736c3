"""A folder of runs of one's own."""

import pytest


@pytest.fixture(autouse=True)
def own_folder(runs_elsewhere, tmp_path, monkeypatch):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path / "runs"))
