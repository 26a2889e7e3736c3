"""Chance and a few lines of code, beside which learned scores stand."""

import importlib.util
from pathlib import Path

import pytest

from spotter.config import resolve

pytest.importorskip("ale_py")

_FILE = Path(__file__).parents[2] / "benchmarks" / "baselines.py"
_SPEC = importlib.util.spec_from_file_location("baselines", _FILE)
baselines = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(baselines)


@pytest.mark.parametrize(
    ("address", "frames", "better_by"),
    [("ALE/Pong-v5:objects", 3000, 2), ("ALE/Breakout-v5:rgb", 3000, 5)],
)
def test_following_the_ball_beats_chance(address, frames, better_by):
    env = resolve(address, [f"env.frame_cap={frames}", "env.backend=sync"]).config.env
    at_random = baselines.at_random(env, 2, seed=0)
    scripted = baselines.by_script(env, 2, seed=0)
    assert len(at_random) == len(scripted) == 2
    assert sum(scripted) / 2 > sum(at_random) / 2 + better_by


def test_chance_takes_valid_actions_only():
    overrides = ["env.full_actions=true", "env.frame_cap=200", "env.observe=ram"]
    env = resolve("ALE/Pong-v5:rgb", [*overrides, "env.backend=sync"]).config.env
    taken = set()

    def watched(vector):
        action = chosen(vector)
        taken.update(action.tolist())
        return action

    chosen = baselines.random_choice(0)
    baselines.play(env, watched, 2, seed=0)
    assert taken == {0, 1, 3, 4, 11, 12}
