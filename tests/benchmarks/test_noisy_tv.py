"""Noise that is new at every step: which intrinsic rewards take it for something new."""

import importlib.util
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    spec = importlib.util.spec_from_file_location("noisy_tv", FOLDER / "noisy_tv.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "noisy_tv", module)
    monkeypatch.syspath_prepend(str(FOLDER))
    spec.loader.exec_module(module)
    return module


def test_who_is_fooled(bench):
    found = {name: bench.left_over(one, rollouts=100) for name, one in bench.REWARDS.items()}
    for name, (quiet, _) in found.items():
        assert quiet < 0.2, f"{name}: what was seen often is new no more"
    noisy = {name: with_noise for name, (_, with_noise) in found.items()}
    fooled = {"prediction, random features", "boredom, inverse features"}
    assert {name for name, left in noisy.items() if left > 0.25} == fooled
