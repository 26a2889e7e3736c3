"""A folder of runs of one's own, and a model to ask."""

import pytest

from tests.review.server import no_model, serving


@pytest.fixture(autouse=True)
def own_folder(runs_elsewhere, tmp_path, monkeypatch):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path / "runs"))
    no_model(monkeypatch)


@pytest.fixture
def model(monkeypatch):
    with serving(monkeypatch) as there:
        yield there
