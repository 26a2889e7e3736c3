"""Speed is windowed and counts busy seconds only."""

import json

import pytest

from spotter.sinks.pace import Pace


class Clock:
    """A fake clock: training and pauses take as long as the test says."""

    def __init__(self) -> None:
        self.now = 0.0

    def spend(self, seconds: float) -> float:
        self.now += seconds
        return seconds


def test_p38_speed_is_that_of_the_last_ten_busy_seconds():
    clock, pace = Clock(), Pace()
    for _ in range(100):
        pace.add(1000, clock.spend(1.0))
    assert pace.fps == pytest.approx(1000)
    for _ in range(10):
        pace.add(4000, clock.spend(1.0))
    assert pace.fps == pytest.approx(4000)  # a mean over the run would say 1273
    assert pace.updates_per_s == pytest.approx(1.0)


def test_p38_evaluation_does_not_slow_it_down():
    clock, pace = Clock(), Pace()
    for _ in range(20):
        pace.add(500, clock.spend(0.5))
        clock.spend(30.0)  # evaluating and saving: not handed in
    assert clock.now > 600
    assert pace.fps == pytest.approx(1000)
    assert pace.updates_per_s == pytest.approx(2.0)


def test_an_update_longer_than_the_window_still_counts():
    pace = Pace()
    pace.add(100, 1.0)
    pace.add(60_000, 60.0)
    assert pace.fps == pytest.approx(1000)


def test_eta_is_for_what_remains():
    pace = Pace()
    pace.add(50_000, 10.0)
    assert pace.eta_s(50_000) == pytest.approx(10.0)
    assert pace.eta_s(0) == 0.0
    assert pace.eta_s(-5) == 0.0


def test_nothing_known_yet_is_no_error():
    pace = Pace()
    assert (pace.fps, pace.updates_per_s, pace.eta_s(1000)) == (0.0, 0.0, 0.0)
    pace.add(10, 0.0)  # a clock too coarse to see the update
    assert pace.fps == 0.0


def test_quick_updates_share_slots_and_lose_nothing():
    pace = Pace()
    for _ in range(50_000):
        pace.add(40, 0.001)
    assert pace.fps == pytest.approx(40_000)
    assert pace.updates_per_s == pytest.approx(1000)
    assert len(pace.state()["slots"]) <= 110


def test_restored_it_goes_on_as_if_never_stopped():
    pace, other = Pace(), Pace()
    for i in range(37):
        pace.add(100 + i, 0.3 + i / 100)
    other.restore(json.loads(json.dumps(pace.state())))
    for each in (pace, other):
        each.add(5000, 2.5)
    assert other.fps == pytest.approx(pace.fps, rel=1e-12)
    assert other.updates_per_s == pytest.approx(pace.updates_per_s, rel=1e-12)
    fresh = Pace()
    fresh.restore(Pace().state())
    assert fresh.fps == 0.0
