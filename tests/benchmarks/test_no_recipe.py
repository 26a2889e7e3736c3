"""The page of results without a recipe: it is what its file holds."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("no_recipe", FOLDER / "no_recipe.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["no_recipe"] = module  # where its dataclass looks for names
    sys.path.insert(0, str(FOLDER))  # where a script finds its neighbours
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(FOLDER))
    del sys.modules["no_recipe"], sys.modules["learn"]


def test_the_page_says_what_its_file_holds(bench):
    rows = bench._read(FOLDER / "results" / "no_recipe.jsonl")
    page = (ROOT / "docs" / "no-recipe.md").read_text(encoding="utf-8")
    assert bench.table(rows) in page


def test_every_training_of_the_table_is_there_once(bench):
    rows = bench._read(FOLDER / "results" / "no_recipe.jsonl")
    found = Counter((row["env"], row["side"], row["seed"]) for row in rows)
    wanted = {
        (work.name, side, seed)
        for work in bench.WORKS
        for side in bench.SIDES
        for seed in (21, 22, 23)
    }
    assert wanted <= set(found) and set(found.values()) == {1}
    assert len(bench.WORKS) >= 14
    assert len({work.package for work in bench.WORKS}) >= 7


def test_random_play_is_scored_over_whole_episodes(bench):
    work = bench.Work("CartPole-v1", 100, "gymnasium", episodes=5)
    found = bench.one("random", work, 3, [])
    assert found["env_steps"] == 0 and 9 <= found["score"] <= 60
    assert found == bench.one("random", work, 3, [])
