"""One number, one value: the table, metrics.jsonl, checkpoint and report show the same."""

import html
import io
import re

import pytest
from rich.console import Console as Terminal

from spotter.metrics import common
from spotter.metrics.spec import Catalogue
from spotter.rundir.files import read_json
from spotter.rundir.run import Run
from spotter.sinks.console import Console
from spotter.text.numbers import amount
from spotter.training.checkpoint import find_in
from spotter.training.run import train


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A real run as every reader sees it: rows, final table, report."""
    import os

    from spotter.config import resolve

    os.environ["SPOTTER_RUNS"] = str(tmp_path_factory.mktemp("runs"))
    config = resolve(
        "CartPole-v1:ppo",
        {"budget.env_steps": 3000, "eval.every_steps": 1000, "eval.episodes": 3},
    ).config
    screen = io.StringIO()
    terminal = Terminal(file=screen, width=160, height=60, force_terminal=True, color_system=None)
    result = train(config, [Console(terminal)], lambda: Run.create(config, "CartPole-v1:ppo"))
    return result.run, screen.getvalue()


def last_row(run):
    return list(run.metrics())[-1]


def shown_metrics(row):
    catalogue = Catalogue(common.METRICS)
    specs = {key: catalogue.find(key) for key in row if "/" in key}
    return {key: spec for key, spec in specs.items() if spec is not None and spec.shown}


def test_the_final_table_shows_the_last_row(told):
    run, screen = told
    frame = screen[screen.rfind("change  trend") :]
    row = last_row(run)
    missing = []
    for key, spec in shown_metrics(row).items():
        if key.startswith(("time/", "run/")):
            continue  # in the head line, ticking on
        name = key.split("/", 1)[1]
        value = amount(row[key], spec.precision)
        if not re.search(rf"{re.escape(name)}\s+{re.escape(value)}\s", frame):
            missing.append((key, value))
    assert not missing
    assert len(shown_metrics(row)) >= 12


def test_the_report_holds_the_last_row_to_the_last_digit(told):
    run, _ = told
    page = html.unescape((run.folder / "report.html").read_text(encoding="utf-8"))
    markdown = (run.folder / "report.md").read_text(encoding="utf-8")
    row = last_row(run)
    assert [key for key, value in row.items() if "/" in key and repr(value) not in page] == []
    for key in ("train/score", "policy/entropy"):
        spec = Catalogue(common.METRICS).find(key)
        assert amount(row[key], spec.precision) in page
        assert key in markdown


def test_the_checkpoint_holds_its_row(told):
    run, _ = told
    assert read_json(find_in(run, "@latest") / "metrics.json") == last_row(run)


def test_scores_are_the_same_in_rows_events_certificate_and_identity(told):
    run, _ = told
    row = last_row(run)
    (test,) = [event for event in run.evaluations() if event["seeds"] == "test"]
    assert row["test/score"] == test["score"] == run.info()["score"]
    assert row["test/solved"] == float(run.info()["solved"])
    certificate = read_json(find_in(run, "@latest") / "score.json")["test"]
    assert certificate["scores"] == test["scores"]
