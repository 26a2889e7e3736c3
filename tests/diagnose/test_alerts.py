"""The watcher: when alerts come and go, how they are counted, and that it remembers."""

import json
import time
from dataclasses import replace

import pytest

from spotter.diagnose.alerts import Watcher
from spotter.diagnose.rules import IDS
from tests.diagnose.rows import CATALOGUE, DISCRETE, HEALTHY, Feed, episodes

HIGH_KL = {"policy/approx_kl": 0.09, "policy/kl": 0.09}
COLLAPSED = {"policy/entropy": 0.001}


def test_an_alert_says_where_to_read_on():
    (alert,) = Feed().rows(9, HIGH_KL).alerts
    assert alert.link == "spotter help alerts.kl-high"


def test_counts_and_shares():
    feed = Feed().rows(9, HIGH_KL).rows(31, score=lambda update: 20.0 + update)
    (count,) = feed.watcher.counts()
    # blocks 3 and 4 make it speak; the mean of five blocks falls below the limit with 3 fine ones
    assert count.last.id == "kl-high"
    assert (count.first_env_steps, count.last_env_steps) == (4000, 12_000)
    assert count.updates == 9
    assert count.share == pytest.approx(9 / 40)


def test_an_alert_needs_persistence_and_goes_with_hysteresis():
    feed = Feed()
    history = ["kl-high" in feed.rows(1, HIGH_KL).active for _ in range(6)]
    assert history == [False, False, False, True, True, True]
    history = ["kl-high" in feed.rows(1, {"policy/approx_kl": 0.0055}).active for _ in range(6)]
    assert history == [True, True, True, False, False, False]


def test_one_id_is_one_alert_however_many_metrics_show_it():
    wrong = {"policy/clip_fraction": 2.0, "net/dead_units": 7.0, "rollout/lost": -1.0}
    feed = Feed().rows(7, wrong)
    assert [alert.id for alert in feed.alerts].count("out-of-bounds") == 1
    (count,) = [c for c in feed.watcher.counts() if c.last.id == "out-of-bounds"]
    assert "2 more metrics" in count.last.saw
    assert count.updates == 3


def test_alerts_are_sorted_by_id():
    feed = Feed().rows(200, COLLAPSED).rows(8, HIGH_KL | COLLAPSED).rows(1, env_steps=0)
    expected = ["entropy-collapse", "kl-high", "score-flat", "stuck-counter"]
    assert [count.last.id for count in feed.watcher.counts()] == expected
    assert [alert.id for alert in feed.alerts] == expected


def test_ignored_alerts_are_neither_shown_nor_counted():
    assert Feed(ignore=["kl-high"]).rows(9, HIGH_KL).fired == set()
    everything = Feed(ignore=IDS).rows(50, HIGH_KL | COLLAPSED | {"grad/norm": float("nan")})
    assert everything.fired == set()


def test_small_updates_are_judged_in_blocks():
    """A2C makes updates of a few dozen env steps: ten wild ones among many are no alarm."""
    feed = Feed()
    feed.rows(200, env_steps=40, played=1, score=lambda update: 20 + update / 5)
    feed.rows(10, HIGH_KL, env_steps=40, played=1, score=60.0)
    feed.rows(200, env_steps=40, played=1, score=lambda update: 20 + update / 5)
    assert "kl-high" not in feed.fired
    feed.rows(150, HIGH_KL, env_steps=40, played=1, score=lambda update: 20 + update / 5)
    assert "kl-high" in feed.active


def test_metrics_may_be_missing():
    watcher = Watcher(DISCRETE, CATALOGUE)
    for update in range(1, 200):
        assert watcher.see({}, update, update * 1000) == ()
        assert watcher.see({"train/episodes": 3.0}, update, update * 1000 + 1) == ()
    assert watcher.counts() == ()
    assert Watcher(DISCRETE, CATALOGUE).counts() == ()


def script(feed: Feed, start: int, end: int) -> list[set[str]]:
    """A run in which many things come and go."""
    said = []
    for update in range(start, end):
        changes = {}
        if update % 50 > 30:
            changes |= HIGH_KL
        if update > 120:
            changes |= COLLAPSED
        if update % 60 < 10:
            changes |= {"policy/clip_fraction": 1.1}
        if update % 20 == 0:
            changes |= {"eval/score": 5.0, "eval/env_steps": float(update), "eval/solved": 0.0}
        score = 20.0 + update if update < 100 else 30.0
        said.append(feed.rows(1, changes, score=score, env_steps=700).active)
    return said


@pytest.mark.parametrize("cut", [1, 37, 125, 199])
def test_restored_it_goes_on_as_if_never_stopped(cut):
    whole = Feed()
    said = script(whole, 1, 260)
    first, second = Feed(), Feed()
    before = script(first, 1, cut)
    second.watcher.restore(json.loads(json.dumps(first.watcher.state(), allow_nan=False)))
    second.update, second.env_steps = first.update, first.env_steps
    assert before + script(second, cut, 260) == said
    assert second.watcher.counts() == whole.watcher.counts()
    assert len(whole.fired) >= 4


def test_a_resumed_run_has_no_second_start():
    first, second = Feed().rows(5), Feed()
    second.watcher.restore(first.watcher.state())
    second.update, second.env_steps = first.update, first.env_steps
    assert second.rows(1, {"action/mean": 0.95}).active == set()


def test_a_resume_on_a_slower_machine_is_no_drop():
    first, second = Feed(), Feed()
    for i in range(100):
        first.rows(1, {"time/elapsed_s": float(i)})
    second.watcher.restore(first.watcher.state())
    second.update, second.env_steps = first.update, first.env_steps
    for i in range(100, 200):
        second.rows(1, {"time/elapsed_s": float(i), "time/fps": 500.0})
    assert "fps-drop" not in second.fired


def test_a_resume_may_ignore_other_alerts():
    first = Feed(ignore=["score-flat"]).rows(50, HIGH_KL)
    second = Feed(ignore=["kl-high"])
    second.watcher.restore(first.watcher.state())
    assert second.watcher.counts() == ()


def test_state_stays_small_however_long_the_run():
    feed = Feed().rows(3000)
    assert len(json.dumps(feed.watcher.state())) < 60_000


def test_a_row_costs_next_to_nothing():
    """A2C makes a thousand updates a second; the watcher must not be seen in the speed."""
    facts = replace(DISCRETE, shaped=True)
    extra = {f"info/key{i}/mean": float(i) for i in range(30)}
    played = episodes(20.0, 2)
    best = float("inf")
    for _ in range(5):
        watcher = Watcher(facts, CATALOGUE)
        began = time.process_time()
        for update in range(1, 301):
            watcher.see(HEALTHY | extra, update, update * 80, played)
        best = min(best, (time.process_time() - began) / 300)
    assert best < 100e-6
