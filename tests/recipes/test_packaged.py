"""Every packaged recipe runs: one update, one evaluation."""

import pytest

from spotter.config import recipes, resolve
from spotter.training.run import train
from spotter.types import UserError

ADDRESSES = [
    f"{name}:{variant}"
    for name, path in recipes.files().items()
    for variant in recipes.variants(recipes.open_source(path))
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_recipe_trains_and_is_scored(address):
    short = {"budget": {"env_steps": 1}, "eval": {"every_steps": None, "episodes": 2}}
    if "/" in address:  # a game takes minutes, and some copies are processes of their own
        short |= {"env": {"count": 2, "time_limit": 20}, "algo": {"steps": 8, "minibatch": 16}}
        short |= {"threads": 1}
    resolved = resolve(address, short)
    try:
        result = train(resolved.config)
    except UserError as error:
        if "needs its ROM" not in str(error):
            raise
        pytest.skip(str(error))
    assert result.reason == "budget"
    assert len(result.test.scores) == 2
    if resolved.expect is not None:
        assert result.threshold is not None, "what promises a score knows when it is solved"


@pytest.mark.parametrize("address", ADDRESSES)
def test_recipe_says_what_it_does_and_what_it_promises(address):
    resolved = resolve(address)
    assert resolved.description
    budget = resolved.config.budget.env_steps
    assert budget is not None
    assert resolved.expect is None or resolved.expect.env_steps <= budget
