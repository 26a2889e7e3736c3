"""Our own algorithms pass the checks we offer for others'."""

from pathlib import Path

import pytest

from spotter import plugins
from spotter.testing.algorithms import (
    _config,
    check_algorithm,
    check_gradient_metrics,
    check_learns_something,
)
from tests.docs.blocks import ROOT, of_page


@pytest.mark.parametrize("name", plugins.names("algos"))
def test_algorithm_conforms(name):
    check_algorithm(name)
    check_gradient_metrics(_config(name, "CartPole-v1", {}))


def test_the_algorithm_of_the_how_to_conforms(folder, monkeypatch):
    page = of_page(ROOT / "docs/howto/add-a-plugin.md")
    folder("signs.py", next(block.text for block in page if block.mark("file") == "signs.py"))
    monkeypatch.syspath_prepend(Path.cwd())
    check_algorithm("signs")


def test_an_algorithm_without_losses_conforms():
    check_algorithm("tests.conformance.hill_climbing")


def test_an_algorithm_that_learns_nothing_is_found_out():
    with pytest.raises(AssertionError, match="ppo changed no weight"):
        check_learns_something(_config("ppo", "CartPole-v1", {"lr": 0.0}))
