"""Whole recipes in the pages train as they stand."""

import re
from pathlib import Path

import pytest

import spotter

PAGES = [Path("docs/howto/shape-rewards.md")]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_recipe_of_a_page_trains(page, tmp_path):
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(re.search(r"```yaml\n(.*?)```", text, re.DOTALL)[1], encoding="utf-8")
    quick = ("budget.env_steps=2000", "eval.every_steps=null", "video.when=null")
    assert spotter.train(str(recipe), *quick).env_steps >= 2000
