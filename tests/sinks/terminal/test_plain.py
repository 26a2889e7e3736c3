"""Plain lines: for log files, without a single escape code."""

import io

from rich.console import Console as Terminal

from spotter.sinks.terminal.plain import Plain
from tests.sinks.terminal.scripted import (
    DEAD,
    KL_HIGH,
    Clock,
    ending,
    evaluation,
    row,
    start,
    written,
)


def plain(file=None, **options):
    clock = Clock()
    terminal = Terminal(file=file or io.StringIO(), _environ={}, **options)
    return Plain(terminal, clock), clock, terminal


def lines(terminal):
    return written(terminal).splitlines()


def test_the_head():
    sink, _, terminal = plain()
    sink.open(start(summary={"Run": {"id": "abcd", "seed": "1"}, "Training": {"lr": "[3e-4]"}}))
    head, run, training, columns = lines(terminal)
    assert head == "CartPole-v1 · ppo · 4 envs · 100,000 env steps · seed 1"
    assert (run, training) == ("Run: id abcd · seed 1", "Training: lr [3e-4]")
    assert " ".join(columns.split()) == "env steps score length entropy kl expl.var steps/s"


def test_a_resumed_run_says_where_it_goes_on():
    sink, _, terminal = plain()
    sink.open(start(env_steps=6400))
    assert lines(terminal)[1] == "note: resumes from 6,400 env steps"


def test_a_line_about_every_second():
    sink, clock, terminal = plain()
    for update in range(1, 25):
        sink.row(row(update, {"train/score": 12.34}))
        clock.now += 0.125
    shown = [line.split() for line in lines(terminal)]
    assert [cells[0] for cells in shown] == ["64", "576", "1,088"]
    assert shown[0][1:] == ["12.3", "-", "-", "-", "-", "-"]


def test_missing_and_odd_numbers_are_no_crash():
    sink, _, terminal = plain()
    sink.row(row(1, {"train/score": float("nan"), "time/fps": float("inf")}))
    assert lines(terminal)[0].split() == ["64", "nan", "-", "-", "-", "-", "inf"]


def test_an_alert_is_one_line_and_not_repeated_while_it_lasts():
    sink, clock, terminal = plain()
    for update in range(1, 200):
        sink.row(row(update, alerts=[KL_HIGH] if update < 150 else []))
        clock.now += 1
    sink.row(row(200, alerts=[KL_HIGH, DEAD]))
    alerts = [line for line in lines(terminal) if line.startswith("alert")]
    assert alerts == [
        "alert kl-high: saw 0.052 [limit 0.03]; try: lower algo.lr",
        "alert kl-high: saw 0.052 [limit 0.03]; try: lower algo.lr",
        "alert dead-units: saw 30 % dead; try: use tanh",
    ]


def test_an_alert_that_comes_and_goes_is_told_once_a_minute():
    sink, clock, terminal = plain()
    for update in range(1, 122):
        sink.row(row(update, alerts=[KL_HIGH] if update % 2 else []))
        clock.now += 1
    assert sum(line.startswith("alert") for line in lines(terminal)) == 3


def test_evaluations_notes_and_events():
    sink, _, terminal = plain()
    sink.evaluation(evaluation(480.0, seeds="eval"))
    sink.note("copies 3 and 7 start [alike]")
    sink.event("fault", {"text": "copy 1 hung", "folder": "faults/1"})
    sink.event("checkpoint", {"step": 1, "seconds": 0.1, "best": False})
    sink.event("unheard of", {})
    assert lines(terminal) == [
        "       6,400  eval score 480.0 ± 0.0 over 2 held-out episodes (solved at 475)",
        "note: copies 3 and 7 start [alike]",
        "note: copy 1 hung; kept in faults/1",
    ]


def test_the_end():
    sink, _, terminal = plain()
    sink.open(start())
    sink.row(row(metrics={"train/score": 401.0}))
    sink.close(ending("budget", evaluation(12.0), alerts=[KL_HIGH]))
    text = written(terminal)
    assert "alert kl-high (warning): 12 updates, 25 % of all" in text
    tail = lines(terminal)[-9:]
    assert tail[0] == "NOT SOLVED"
    assert "  training score   401.0" in tail


def test_an_error_adds_nothing():
    sink, _, terminal = plain()
    sink.open(start())
    before = written(terminal)
    sink.close(None)
    assert written(terminal) == before


def test_no_escape_codes_and_no_wrapping_even_where_colours_are_forced():
    sink, clock, terminal = plain(force_terminal=True, color_system="standard", width=40)
    sink.open(start(summary={"Run": {"folder": "/long/path" * 20}}))
    for update in range(1, 5):
        sink.row(row(update, alerts=[KL_HIGH, DEAD]))
        clock.now += 1
    sink.note("word " * 50)
    sink.evaluation(evaluation())
    sink.close(ending(test=evaluation(), alerts=[KL_HIGH]))
    assert "\x1b" not in written(terminal)
    assert "\r" not in written(terminal)
    assert f"note: {'word ' * 50}".rstrip() in [line.rstrip() for line in lines(terminal)]


def test_a_narrow_encoding_is_no_crash():
    raw = io.BytesIO()
    sink, _, _ = plain(io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    sink.open(start())
    sink.note("score ≥ 475")
    assert b"note: score ? 475" in raw.getvalue()
