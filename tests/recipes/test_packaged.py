"""Every packaged recipe runs: one update, one evaluation."""

import pytest

from spotter.config import recipes, resolve
from spotter.training import train

ADDRESSES = [
    f"{name}:{variant}"
    for name, path in recipes.files().items()
    for variant in recipes.variants(recipes.open_source(path))
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_recipe_trains_and_is_scored(address):
    short = {"budget": {"env_steps": 1}, "eval": {"every_steps": None, "episodes": 2}}
    if address.startswith("ALE/"):  # a game takes minutes
        short |= {"env": {"count": 8, "time_limit": 20}, "algo": {"steps": 8, "minibatch": 64}}
    resolved = resolve(address, short)
    result = train(resolved.config)
    assert result.reason == "budget"
    assert len(result.test.scores) == 2
    assert result.threshold is not None, "a recipe knows when its environment is solved"


@pytest.mark.parametrize("address", ADDRESSES)
def test_recipe_says_what_it_does_and_what_it_promises(address):
    resolved = resolve(address)
    assert resolved.description
    assert resolved.expect is not None
    assert resolved.config.budget.env_steps is not None
    assert resolved.expect.env_steps <= resolved.config.budget.env_steps
