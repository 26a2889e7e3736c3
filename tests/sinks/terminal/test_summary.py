"""Before and after a run."""

import math

import pytest

from spotter.sinks.terminal import summary
from spotter.sinks.terminal.board import Board
from tests.sinks.terminal.scripted import (
    CATALOGUE,
    DEAD,
    KL_HIGH,
    Clock,
    a_run,
    ending,
    evaluation,
    plain_text,
    row,
    start,
)

BLOCKS = {
    "Run": {"id": "20260102-030405-abcd", "seed": "1"},
    "Environment": {"id": "CartPole-v1 [x]", "copies": "8"},
    "Training": {"algorithm": "ppo"},
}


def test_blocks_stand_side_by_side_where_there_is_room():
    lines = plain_text(summary.Blocks(BLOCKS), 100).splitlines()
    assert lines[0].split() == ["Run", "Environment", "Training"]
    beside = " ".join(lines[1].split())
    assert beside == "id 20260102-030405-abcd id CartPole-v1 [x] algorithm ppo"
    narrow = plain_text(summary.Blocks(BLOCKS), 66).splitlines()
    assert narrow[0].split() == ["Run", "Environment"]
    assert narrow[4].split() == ["Training"]


@pytest.mark.parametrize("width", [100, 80, 40, 20])
def test_long_texts_are_folded_not_cut(width):
    words = " ".join(f"word{number}" for number in range(12))
    text = plain_text(summary.Blocks({**BLOCKS, "Training": {"about": words}}), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert [word for word in words.split() if word not in text] == []
    if width == 100:
        assert text.splitlines()[0].split() == ["Run", "Environment", "Training"]


def entries_of(*rows):
    board = Board(CATALOGUE, Clock())
    for each in rows:
        board.add(each)
    board.take_in()
    return board.by_priority()


def test_cons_05_the_metric_summary_has_statistics_by_priority():
    rows = [
        row(1, {"policy/entropy": 0.5, "train/score": 1.0, "loss/value": 2.0}),
        row(2, {"policy/entropy": 0.7, "train/score": 5.0, "loss/value": math.nan}),
    ]
    lines = plain_text(summary.MetricSummary(entries_of(*rows))).splitlines()
    assert [line.split() for line in lines[1:5]] == [
        ["metric", "min", "max", "mean", "std", "last", "trend"],
        ["train/score", "1.00", "5.00", "3.00", "2.00", "5.00", "▁█"],
        ["policy/entropy", "0.500", "0.700", "0.600", "0.100", "0.700", "▁█"],
        ["loss/value", "2.000", "2.000", "2.000", "0.000", "nan", "▁"],
    ]


def test_the_trend_takes_what_is_left():
    entries = entries_of(*(row(n, {"train/score": float(n)}) for n in range(100)))
    for width in (70, 40, 20):
        text = plain_text(summary.MetricSummary(entries), width)
        assert all(len(line) <= width for line in text.splitlines())
    assert "▁" in plain_text(summary.MetricSummary(entries), 60)


@pytest.mark.parametrize("width", range(36, 110, 4))
def test_a_number_is_whole_or_its_column_is_left_out(width):
    values = (0.0, 0.000123456, 12345.678)
    entries = entries_of(*(row(n, {"train/score": x}) for n, x in enumerate(values)))
    whole = plain_text(summary.MetricSummary(entries), 200).splitlines()
    texts = dict(zip(whole[1].split()[1:6], whole[2].split()[1:6], strict=True))
    lines = plain_text(summary.MetricSummary(entries), width).splitlines()
    heads = [head for head in lines[1].split()[1:] if head != "trend"]
    assert lines[2].split()[1 : 1 + len(heads)] == [texts[head] for head in heads]
    missing = [head for head in ("std", "min", "mean", "max") if head not in heads]
    told = f"left out for lack of room: {', '.join(missing)}" if missing else ""
    assert " ".join(" ".join(lines[3:]).split()) == told
    assert "last" in heads


def test_the_alert_list_has_counts_advice_and_where_to_read_on():
    counts = ending(alerts=[DEAD, KL_HIGH]).alerts
    wanted = [
        "dead-units (critical): 12 updates, 25 % of all, env steps 640 to 6,400",
        "saw 30 % dead",
        "try: use tanh",
        "see: spotter help alerts.dead-units",
        "kl-high (warning): 12 updates, 25 % of all, env steps 640 to 6,400",
        "saw 0.052 [limit 0.03]",
        "try: lower algo.lr",
        "see: spotter help alerts.kl-high",
    ]
    shown = [line.strip() for line in plain_text(summary.alert_list(counts)).splitlines()]
    assert shown == ["Alerts", *wanted, ""]
    assert [x.strip().removeprefix("alert ") for x in summary.alert_lines(counts)] == wanted


@pytest.mark.parametrize(
    ("reason", "threshold", "test", "word"),
    [
        ("solved", 475.0, 500.0, "SOLVED"),
        ("budget", 475.0, 500.0, "SOLVED"),
        ("budget", 475.0, 12.0, "NOT SOLVED"),
        ("plateau", 475.0, 12.0, "NOT SOLVED"),
        ("budget", None, 12.0, "FINISHED"),
        ("budget", 475.0, None, "FINISHED"),
        ("interrupted", 475.0, None, "INTERRUPTED"),
        ("interrupted", 475.0, 12.0, "INTERRUPTED"),
        ("terminated", 475.0, None, "INTERRUPTED"),
    ],
)
def test_the_word_for_each_outcome(reason, threshold, test, word):
    scored = None if test is None else evaluation(test, threshold)
    verdict = summary.Verdict.of(start(threshold=threshold), ending(reason, scored), None)
    top = plain_text(verdict.box()).splitlines()[0]
    assert verdict.word == word
    assert top.strip("╭─╮ ") == word
    assert next(verdict.lines()) == word


def test_the_box_has_every_fact():
    verdict = summary.Verdict.of(
        start(run=a_run()),
        ending("budget", evaluation(450.25), last=354.9),
        row(metrics={"train/score": 401.0}),
    )
    assert dict(verdict.facts) == {
        "test score": "450.2 ± 0.0 over 2 held-out episodes",
        "threshold": "475",
        "gap": "-24.8",
        "best evaluation": "490.0 ± 3.2 over 40 episodes, at 6,144 env steps",
        "last weights": "354.9 ± 20.0 over 20 episodes; the best are kept",
        "training score": "401.0",
        "stopped": "budget spent",
        "env steps": "6,400",
        "time": "75.2 s",
        "run": str(a_run().folder),
    }
    box = plain_text(verdict.box())
    for label, text in verdict.facts.items():
        assert any(label in line and text in line for line in box.splitlines())


def test_the_box_leaves_out_what_is_not_known():
    facts = summary.Verdict.of(start(threshold=None), ending("interrupted", best=None), None).facts
    assert facts["test score"] == "not scored"
    assert set(facts) == {"test score", "stopped", "env steps", "time"}


def test_a_better_score_than_needed_has_a_plus():
    facts = summary.Verdict.of(start(), ending(test=evaluation(500.0)), None).facts
    assert facts["gap"] == "+25.0"
