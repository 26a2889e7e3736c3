"""What the live table remembers, and in which order."""

import threading

import pytest

from spotter.metrics.spec import Catalogue, MetricSpec
from spotter.sinks.terminal.board import Board, NewAlerts
from tests.sinks.terminal.scripted import CATALOGUE, DEAD, KL_HIGH, Clock, row


def board_of(*rows):
    board = Board(CATALOGUE, Clock())
    for each in rows:
        board.add(each)
    return board


def keys(entries):
    return [entry.key for entry in entries]


ALL = {
    "time/fps": 1000.0,
    "policy/entropy": 0.6,
    "train/episodes": 3,
    "loss/value": 2.0,
    "policy/approx_kl": 0.01,
    "reward/shaping": 0.5,
    "net/dead_units": 0.3,
    "reward/env": 1.0,
    "train/score": 10.0,
}


def test_groups_and_rows_stand_by_priority_whatever_the_order_of_the_keys():
    order = [
        "train/score",
        "train/episodes",
        "reward/env",
        "reward/shaping",
        "policy/approx_kl",
        "policy/entropy",
        "loss/value",
    ]
    assert keys(board_of(row(metrics=ALL)).show()) == order
    backwards = dict(reversed(ALL.items()))
    assert keys(board_of(row(metrics=backwards)).show()) == order


def test_what_the_head_shows_is_no_row():
    catalogue = Catalogue((MetricSpec("time/*", "", shown=True),))
    board = Board(catalogue, Clock())
    board.add(row(metrics={"time/fps": 1.0, "time/elapsed_s": 2.0, "time/eta_s": 3.0}))
    assert keys(board.show()) == ["time/fps"]


def test_a_late_metric_takes_its_place_and_the_rest_keep_theirs():
    board = board_of(row(metrics=ALL))
    before = keys(board.show())
    board.add(row(2, {"eval/score": 100.0}))
    after = keys(board.show())
    assert after.index("eval/score") == 2  # after the train group
    assert [key for key in after if key != "eval/score"] == before


def test_cons_05_the_summary_is_ordered_by_priority_alone():
    board = board_of(row(metrics=ALL))
    board.take_in()
    assert keys(board.by_priority()) == [
        "train/score",
        "reward/env",
        "reward/shaping",
        "policy/approx_kl",
        "policy/entropy",
        "loss/value",
        "train/episodes",
    ]


def test_cons_01_a_hidden_metric_appears_when_it_alerts_and_stays():
    board = board_of(row(metrics=ALL, alerts=[DEAD]))
    (entry,) = (entry for entry in board.show() if entry.key == "net/dead_units")
    assert entry.firing
    assert entry.alerts == (DEAD,)
    board.add(row(2, ALL))
    (entry,) = (entry for entry in board.show() if entry.key == "net/dead_units")
    assert not entry.firing
    assert entry.alerts == (DEAD,)


def test_an_alert_between_two_drawings_is_seen():
    board = board_of(row(1, alerts=[KL_HIGH]), row(2))
    entry = next(entry for entry in board.show() if entry.key == "policy/approx_kl")
    assert entry.firing
    # nothing new since: it stays
    assert next(e for e in board.show() if e.key == "policy/approx_kl").firing


def test_an_alert_on_a_metric_without_values_has_a_row():
    (entry,) = board_of(row(metrics={}, alerts=[DEAD])).show()
    assert entry.series.is_empty


def test_new_alerts_are_told_once_and_again_after_a_minute_of_quiet():
    clock = Clock()
    new = NewAlerts(clock)
    assert new.among([KL_HIGH, DEAD]) == [KL_HIGH, DEAD]
    clock.now += 120
    assert new.among([KL_HIGH]) == []  # it never stopped
    assert new.among([]) == []
    assert new.among([KL_HIGH, DEAD]) == [KL_HIGH, DEAD]  # both were quiet, both long untold
    new.among([])
    clock.now += 59
    assert new.among([KL_HIGH]) == []
    new.among([])
    clock.now += 1
    assert new.among([KL_HIGH]) == [KL_HIGH]


def test_rows_are_taken_in_even_if_nobody_draws():
    board = board_of(*(row(update) for update in range(5000)))
    assert len(board._queue) < 1024
    board.show()
    assert len(board._queue) == 0
    assert board.newest.update == 4999
    for _ in range(500):
        board.messages.append("a note")
    assert len(board.messages) <= 100


def test_no_row_is_lost_between_two_threads():
    board = Board(CATALOGUE, Clock())
    done = threading.Event()

    def draw():
        while not done.is_set():
            board.show()

    drawing = threading.Thread(target=draw)
    drawing.start()
    for update in range(20_000):
        board.add(row(update, {"train/score": float(update % 2)}))
    done.set()
    drawing.join()
    (entry,) = board.show()
    assert entry.series._count == 20_000
    assert entry.series.mean == pytest.approx(0.5)  # in which portions it was summed is chance
