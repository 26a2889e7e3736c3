"""Real runs, recorded: a good one is left in peace, bad ones are named for what is wrong."""

import json
from pathlib import Path

import pytest

from spotter.diagnose.alerts import AlertCount, Facts, Watcher
from spotter.types import Episode
from tests.diagnose.rows import CATALOGUE

FOLDER = Path(__file__).parent / "recorded"


def replay(name: str) -> tuple[AlertCount, ...]:
    run = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    watcher = Watcher(Facts(**run["facts"]), CATALOGUE)
    for update, (env_steps, values, scored, scores) in enumerate(run["rows"], 1):
        metrics = dict(zip(run["keys"], values, strict=True))
        metrics = {key: value for key, value in metrics.items() if value is not None} | scored
        episodes = [Episode(0, score, 1, True, score) for score in scores]
        watcher.see(metrics, update, env_steps, episodes)
    return watcher.counts()


def test_a_healthy_cartpole_run_is_left_in_peace():
    """It goes on long after it is solved, where returns no longer vary and rates fade."""
    assert replay("cartpole") == ()


@pytest.mark.parametrize(
    ("name", "expected", "wrong"),
    [
        ("lr_too_high", {"entropy-collapse", "kl-high"}, {"kl-low", "clip-low"}),
        ("lr_too_low", {"kl-low", "clip-low", "score-flat"}, {"kl-high", "entropy-collapse"}),
        ("box_lr_too_high", {"kl-high", "action-std-explosion"}, {"kl-low", "entropy-collapse"}),
    ],
)
def test_bad_runs_are_named_for_what_is_wrong(name, expected, wrong):
    fired = {count.last.id for count in replay(name)}
    assert expected <= fired
    assert not fired & wrong
