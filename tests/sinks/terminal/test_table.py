"""The live table: the row's own numbers, changes and alerts, in the space there is."""

import math
from dataclasses import replace

import pytest
from rich.cells import cell_len

from spotter.sinks.terminal.board import Board, Message
from spotter.sinks.terminal.table import View
from tests.sinks.terminal.scripted import CATALOGUE, DEAD, KL_HIGH, Clock, plain_text, row, styled

VIEW = View(
    run="20260102-030405-abcd",
    what="CartPole-v1 · ppo",
    entries=(),
    messages=(),
    elapsed_s=83.0,
    eta_s=250.0,
    env_steps=31_232,
    budget=100_000,
    fps=12_345.0,
    updates_per_s=6.06,
    rollout=(256, 1024),
)


def view_of(*rows, **changes):
    board = Board(CATALOGUE, Clock())
    entries = ()
    for each in rows:
        board.add(each)
        entries = board.show()
    return replace(VIEW, **{"entries": entries, "messages": tuple(board.messages), **changes})


def line_of(view, name, width=100, height=40):
    found = [line for line in plain_text(view, width, height).splitlines() if f" {name} " in line]
    assert len(found) == 1, f"{name} is on {len(found)} lines"
    return found[0]


def test_cons_03_the_table_shows_the_rows_values():
    metrics = {
        "train/score": 123.456,
        "train/episodes": 54_321,
        "policy/approx_kl": 0.012349,
        "policy/entropy": 0.6931,
        "loss/value": -1234.5,
        "reward/shaping": 0.0001234,
    }
    view = view_of(row(metrics=metrics))
    shown = {name: line_of(view, name).split()[-2] for name in ("episodes", "approx_kl", "entropy")}
    assert shown == {"episodes": "54.32k", "approx_kl": "0.0123", "entropy": "0.693"}
    assert line_of(view, "train  score").split()[2] == "123.46"
    assert line_of(view, "loss   value").split()[2] == "-1,234.500"
    assert line_of(view, "shaping").split()[2] == "0.00012"


def test_change_is_signed_and_coloured_by_what_is_better():
    before = {"train/score": 10.0, "loss/value": 1.0, "policy/entropy": 0.7, "eval/score": 5.0}
    after = {"train/score": 12.5, "loss/value": 1.25, "policy/entropy": 0.6, "eval/score": 5.0}
    styles = styled(view_of(row(1, before), row(2, after)).lines(100, 40))
    assert styles["+2.50"] == "green"
    assert styles["+0.250"] == "red"  # a loss should fall
    assert styles["-0.100"] == "dim"  # entropy is neither
    assert styles["0"] == "dim"
    styles = styled(view_of(row(1, after), row(2, before)).lines(100, 40))
    assert styles["-2.50"] == "red"
    assert styles["-0.250"] == "green"


def test_the_first_value_has_no_change():
    assert line_of(view_of(row(metrics={"policy/entropy": 0.5})), "entropy").split() == [
        "policy",
        "entropy",
        "0.500",
        "▁",
    ]


def test_cons_01_alerts_are_in_the_table_on_their_row():
    metrics = {"train/score": 1.0, "policy/approx_kl": 0.05, "net/dead_units": 0.3}
    view = view_of(row(metrics=metrics, alerts=[KL_HIGH, DEAD]))
    assert line_of(view, "approx_kl").endswith("kl-high")
    assert line_of(view, "dead_units").endswith("dead-units")
    styles = styled(view.lines(100, 40))
    assert styles["kl-high"] == styles["approx_kl"] == "yellow"
    assert styles["dead-units"] == styles["dead_units"] == "bold red"


def test_cons_02_highlighted_rows_show_alerts_too():
    flat = replace(KL_HIGH, id="score-flat", metric="train/score")
    view = view_of(row(metrics={"train/score": 7.0}, alerts=[flat]))
    assert line_of(view, "train score").endswith("score-flat")
    styles = styled(view.lines(100, 40))
    assert styles["score"] == "bold yellow"
    assert styles["7.00"] == "bold"


def test_an_alert_that_is_over_stays_dim_and_two_are_counted():
    low = replace(KL_HIGH, id="kl-low", level="info")
    view = view_of(row(1, alerts=[KL_HIGH, low]), row(2))
    assert styled(view.lines(100, 40))["kl-high +1"] == "dim"
    view = view_of(row(1, alerts=[KL_HIGH]), row(2, alerts=[low]))
    assert styled(view.lines(100, 40))["kl-low +1"] == "cyan"  # the one that fires stands first


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_no_numbers_are_red(value):
    view = view_of(row(1, {"loss/value": 1.0}), row(2, {"loss/value": value}))
    assert styled(view.lines(100, 40))[str(value)] == "bold red"


def test_cons_04_elapsed_is_blue():
    assert styled(VIEW.lines(100, 40))["0:01:23"] == "blue"


def test_the_head_has_speeds_and_breaks_before_it_is_cut():
    (wide, *_) = plain_text(VIEW, 100).splitlines()
    assert wide.startswith(" 20260102-030405-abcd  CartPole-v1 · ppo ")
    assert wide.endswith("12.35k steps/s · 6.1 updates/s · 0:01:23 · ETA 0:04:10")
    assert plain_text(VIEW, 80).splitlines()[:2] == [
        " 20260102-030405-abcd  CartPole-v1 · ppo",
        " 12.35k steps/s · 6.1 updates/s · 0:01:23 · ETA 0:04:10",
    ]
    bare = replace(VIEW, run="", fps=None, updates_per_s=None, eta_s=None)
    assert plain_text(bare, 100).splitlines()[0].split() == ["CartPole-v1", "·", "ppo", "0:01:23"]


def test_the_table_says_what_training_waits_for():
    """A table that stands still during an evaluation looks as if the program hung."""
    lines = plain_text(replace(VIEW, pause="evaluating 20 episodes")).splitlines()
    assert " now     evaluating 20 episodes …" in lines
    assert not [line for line in lines if "rollout" in line]


def test_roll_01_bars_for_the_rollout_and_the_run():
    lines = plain_text(VIEW).splitlines()
    assert f" rollout {'━' * 8}{'─' * 24}  256 of 1,024 vector steps  25 %" in lines
    assert f" run     {'━' * 9}{'─' * 23}  31,232 of 100,000 env steps  31 %" in lines
    unknown = plain_text(replace(VIEW, budget=None, rollout=(7, 0))).splitlines()
    assert " rollout 7 vector steps" in unknown
    assert " run     31,232 env steps" in unknown
    assert not [x for x in plain_text(replace(VIEW, rollout=None)).splitlines() if "rollout" in x]


@pytest.mark.parametrize("width", [44, 60, 72])
def test_on_a_narrow_terminal_the_bar_gives_way_and_its_numbers_stay(width):
    lines = plain_text(view_of(row()), width, 40).splitlines()
    assert any(line.rstrip().endswith("31,232 of 100,000 env steps  31 %") for line in lines)
    (title,) = (line for line in lines if " metric " in line)
    assert title.split()[-1] in ("change", "trend", "alert"), "a head is whole or not there"


def test_messages_below_the_newest_that_fit():
    alert = Message("kl-high: saw 0.052 [limit 0.03]", "warning", "try: lower algo.lr")
    notes = [Message(f"note {number}") for number in range(9)]
    lines = plain_text(replace(VIEW, messages=[*notes, alert, Message("x" * 200)])).splitlines()
    assert lines[-4:-1] == [
        " note    note 8",
        " alert   kl-high: saw 0.052 [limit 0.03]",
        "         try: lower algo.lr",
    ]
    assert lines[-1] == f" note    {'x' * 90}…"


def many_rows(count):
    metrics = {f"reward/part{number:02}": float(number) for number in range(count)}
    return row(
        metrics={"train/score": 9.0, "policy/approx_kl": 0.2, "net/dead_units": 0.5, **metrics}
    )


@pytest.mark.parametrize("size", [(80, 24), (100, 40), (40, 12), (20, 6), (8, 2), (1, 1)])
def test_it_never_overflows(size):
    width, height = size
    view = view_of(many_rows(60), messages=[Message("y" * 300)] * 9, what="環境" * 30)
    lines = plain_text(view, width, height).splitlines()
    assert len(lines) <= max(height - 1, 1)
    assert all(cell_len(line) <= width for line in lines)


def test_a_small_terminal_drops_the_least_important_rows_and_says_so():
    view = view_of(replace(many_rows(30), alerts=(DEAD,)))
    text = plain_text(view, 80, 24)
    assert "train  score" in text
    assert "dead_units" in text  # alerted, so it is important
    assert "approx_kl" not in text  # 30 comes after the reward parts' 20
    assert "hidden)" in text.splitlines()[2]
    assert "hidden" not in plain_text(view, 80, 60)
    order = [line.split()[-3] for line in text.splitlines() if "part" in line]
    assert order == sorted(order)


def test_columns_are_aligned():
    view = view_of(many_rows(5), many_rows(5))
    lines = plain_text(view).splitlines()
    title = next(line for line in lines if "metric" in line)
    end = title.index("value") + len("value")
    for line in lines[lines.index(title) + 1 : lines.index(title) + 6]:
        assert line[end - 1].isdigit()
        assert line[end] == " "
