"""Our own algorithms pass the checks we offer for others'."""

import pytest

from spotter import plugins
from spotter.testing.algorithms import _config, check_algorithm, check_learns_something


@pytest.mark.parametrize("name", plugins.names("algos"))
def test_algorithm_conforms(name):
    check_algorithm(name)


def test_an_algorithm_that_learns_nothing_is_found_out():
    with pytest.raises(AssertionError, match="ppo changed no weight"):
        check_learns_something(_config("ppo", "CartPole-v1", {"lr": 0.0}))
