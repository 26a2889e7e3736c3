"""The table of results: what it claims follows from every training, on every machine."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from spotter.config import resolve

ROOT = Path(__file__).parents[2]
ADDRESS = "CartPole-v1:ppo"


@pytest.fixture(scope="module")
def learn():
    spec = importlib.util.spec_from_file_location("learn", ROOT / "benchmarks" / "learn.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["learn"] = module  # where its dataclass looks for names
    spec.loader.exec_module(module)
    yield module
    del sys.modules["learn"]


@pytest.fixture
def outcome(learn):
    return learn.Outcome(
        address=ADDRESS,
        seed=11,
        machine="2 cores",
        measured="2026-11-16",
        score=490.0,
        fresh=480.0,
        env_steps=20_000,
        seconds=3.0,
        reached=True,
    )


def test_one_training_is_judged_by_fresh_episodes_too(learn):
    found = learn.run("Bandit-v0:ppo", 11)
    assert found.reached and found.score >= 8.5
    assert found.fresh != found.score  # other episodes
    assert abs(found.fresh - found.score) < 1


def test_a_seed_that_misses_is_named_however_good_the_others_are(learn, outcome):
    missed = replace(outcome, seed=13, score=400.0, reached=False)
    assert learn.verdict(ADDRESS, [outcome, missed]) == "missed by seed 13"
    below = replace(outcome, seed=12, fresh=470.0)
    assert learn.verdict(ADDRESS, [outcome, below]) == "holds; 1 below it on fresh episodes"
    assert learn.verdict(ADDRESS, [outcome]) == "holds"


def test_ranges_hold_every_machine(learn, outcome):
    elsewhere = replace(outcome, machine="16 cores", score=476.0, env_steps=35_000)
    line = learn.row(ADDRESS, [outcome, elsewhere])
    assert "476.00 to 490.00" in line
    assert "20,000 to 35,000" in line
    assert "2 of 2" in line


def test_a_machine_replaces_only_what_it_measured_before(learn, outcome):
    elsewhere = replace(outcome, machine="16 cores")
    again = replace(outcome, seed=12)
    both = learn.merged({ADDRESS: [outcome, elsewhere]}, {ADDRESS: [again]})
    assert both == {ADDRESS: [elsewhere, again]}
    assert learn.merged({"Gone-v0:ppo": [outcome]}, {}) == {}


def test_what_the_page_does_not_cover_is_said(learn, outcome):
    stated = {ADDRESS: [outcome, replace(outcome, score=500.0, env_steps=30_000)]}
    assert not list(learn.outside(stated, {ADDRESS: [replace(outcome, score=495.0)]}))
    (line,) = learn.outside(stated, {ADDRESS: [replace(outcome, env_steps=40_000)]})
    assert line == f"{ADDRESS}, seed 11: env_steps 40000 is outside of 20000 to 30000"


def test_outcomes_survive_a_file_and_a_page(learn, outcome, tmp_path):
    path, page = tmp_path / "results.json", tmp_path / "results.md"
    learn.save(path, {ADDRESS: [outcome]})
    assert learn.load(path) == {ADDRESS: [outcome]}
    page.write_text("before <!-- results:start -->nothing yet<!-- results:end --> after")
    learn.write(page, learn.report(learn.load(path)))
    text = page.read_text()
    assert text.startswith("before ") and text.endswith(" after") and "nothing yet" not in text
    assert "2 cores: 1 of the recipes, seeds 11; 2026-11-16" in text


def test_the_page_says_what_its_file_holds(learn):
    """Nobody edits a number by hand."""
    outcomes = learn.load(ROOT / "docs" / "results.json")
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert learn.report(outcomes) in page
    for address, group in outcomes.items():
        assert len({one.seed for one in group}) >= resolve(address).expect.seeds, address
