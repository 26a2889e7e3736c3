"""The console: a live table or plain lines, cheap for training, and a terminal left in order."""

import gc
import io
import os
import re
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from time import perf_counter, process_time, sleep

import pytest
from rich.console import Console as Terminal

from spotter.sinks.base import Sink
from spotter.sinks.console import Console
from spotter.sinks.terminal.live import LiveTable
from spotter.sinks.terminal.plain import Plain
from tests.sinks.terminal.scripted import (
    DEAD,
    KL_HIGH,
    Clock,
    a_run,
    ending,
    evaluation,
    row,
    screen,
    start,
    terminal,
    without_styles,
    written,
)

QUICK = ("eval.episodes=2", "video.when=null")
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


@pytest.fixture
def opened():
    """Opens a console on a terminal of its own and makes sure that it is closed."""
    consoles = []

    def make(screen=None, clock=None, **options):
        screen = screen or terminal()
        console = Console(screen, clock or Clock())
        console.open(start(**options))
        consoles.append(console)
        return console, screen

    yield make
    for console in consoles:
        console.close(None)


def test_it_is_a_sink():
    sink: Sink = Console(terminal())
    assert sink


def test_a_terminal_gets_the_table_and_anything_else_plain_lines(monkeypatch):
    def way(terminal=None):
        return type(Console(terminal)._way)

    assert way(terminal()) is LiveTable
    assert way(Terminal(file=io.StringIO(), _environ={})) is Plain
    assert (
        way(Terminal(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})) is Plain
    )
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    assert way(Terminal(file=narrow, force_terminal=True, _environ={"TERM": "xterm"})) is Plain
    # asks for colours, not for a cursor that jumps about in a log file
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert way() is Plain


def test_the_last_table_stays_and_the_summary_follows(opened):
    console, screen_ = opened(run=a_run(), summary={"Run": {"id": "abcd"}})
    console.row(row(1, {"train/score": 100.0, "policy/approx_kl": 0.01, "time/elapsed_s": 5.0}))
    console.note("copies 3 and 7 start [alike]")
    console.row(row(2, {"train/score": 401.5, "policy/approx_kl": 0.05}, alerts=[KL_HIGH, DEAD]))
    console.evaluation(evaluation(12.0))
    console.event("video", {"path": "videos/best.mp4", "score": 480.0})
    console.close(ending("budget", evaluation(12.0), alerts=[KL_HIGH]))
    lines = [line.rstrip() for line in screen(without_styles(written(screen_)))]
    text = "\n".join(lines)
    assert lines[0] == " Run"
    assert sum("value     change  trend" in line for line in lines) == 1
    table = next(line for line in lines if "train" in line and "score" in line)
    assert table.split()[:3] == ["train", "score", "401.50"]
    assert next(line for line in lines if "approx_kl" in line).endswith("kl-high")
    assert "dead_units" in text
    assert "rollout" not in text  # none is being collected
    assert " train/score       100.00  401.50  250.75  150.75  401.50  ▁█" in lines
    assert " note: copies 3 and 7 start [alike]" in lines
    assert " note: video videos/best.mp4 (score 480.0)" in lines
    assert "see: spotter help alerts.kl-high" in text
    assert "─  NOT SOLVED  ─" in text
    assert lines[-2].startswith(" ╰──")
    assert written(screen_).rindex(SHOW) > written(screen_).rindex(HIDE)


def test_the_table_is_drawn_while_training_waits(opened):
    """Its own thread draws: within a second and without another call, the row is on the screen."""
    console, screen_ = opened()
    console.row(row(1, {"train/score": 123.0}))
    deadline = perf_counter() + 60
    while "123.00" not in written(screen_) and perf_counter() < deadline:
        sleep(0.02)
    text = without_styles(written(screen_))
    assert "123.00" in text
    assert "256 of 1,024 vector steps" in text


def test_elapsed_ticks_and_goes_on_from_the_rows_own(opened):
    clock = Clock()
    console, _ = opened(clock=clock)
    clock.now += 3
    assert console._way.view().elapsed_s == 3
    console.row(row(1, {"time/elapsed_s": 3600.0, "time/eta_s": 60.0, "time/fps": 500.0}))
    view = console._way.view()
    assert (view.elapsed_s, view.eta_s, view.fps) == (3600.0, 60.0, 500.0)
    clock.now += 7
    view = console._way.view()
    assert (view.elapsed_s, view.eta_s) == (3607.0, 53.0)


def test_odd_rows_are_no_crash(opened):
    console, _ = opened(threshold=None, budget=None)
    console.row(row(1, {}))
    console.row(
        row(2, dict.fromkeys(("train/score", "time/eta_s", "time/elapsed_s"), float("nan")))
    )
    console.row(row(3, {"undeclared": float("inf")}))
    assert console._way.view() is not None
    console.close(ending("budget"))


@pytest.mark.parametrize("plain", [False, True])
def test_rows_cost_training_next_to_nothing(opened, plain):
    screen_ = Terminal(file=io.StringIO(), _environ={}) if plain else terminal()
    console, _ = opened(screen_)
    rows = [row(n, {f"reward/{k}": float(k) for k in range(40)}) for n in range(2000)]
    began = process_time()
    for each in rows:
        console.row(each)
    assert process_time() - began < 0.5


def test_an_error_restores_the_terminal_and_says_nothing(opened):
    console, screen_ = opened()
    console.row(row())
    streams = sys.stdout, sys.stderr
    console.close(None)
    assert written(screen_).rindex(SHOW) > written(screen_).rindex(HIDE)
    assert "FINISHED" not in written(screen_)
    assert "rich" not in type(sys.stdout).__module__
    assert streams != (sys.stdout, sys.stderr)  # rich had put its own in place
    again = written(screen_)
    console.close(None)
    assert written(screen_) == again


def test_an_interrupt_while_the_last_table_is_drawn_restores_the_cursor(opened, monkeypatch):
    console, screen_ = opened()

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(console._way._board, "show", interrupted)
    with pytest.raises(KeyboardInterrupt):
        console.close(ending())
    assert written(screen_).rindex(SHOW) > written(screen_).rindex(HIDE)


def test_a_terminal_that_goes_away_does_not_end_the_run():
    class Gone(io.StringIO):
        def write(self, text):
            raise OSError(5, "Input/output error")

    console = Console(Terminal(file=Gone(), _environ={}), Clock())
    console.open(start())
    for update in range(3):
        console.row(row(update, alerts=[KL_HIGH]))
    console.note("still here")
    console.close(ending())
    assert console._terminal.quiet
    assert console._terminal._buffer == []


def test_many_short_runs_leave_nothing_behind():
    threads = threading.active_count()
    tables = []
    for _ in range(10):
        console = Console(terminal(), Clock())
        console.open(start())
        console.row(row())
        console.close(ending())
        tables.append(weakref.ref(console._way))
    del console
    deadline = perf_counter() + 60  # threads notice at their next turn
    while threading.active_count() > threads and perf_counter() < deadline:
        sleep(0.02)
    gc.collect()
    assert threading.active_count() == threads
    assert [table() for table in tables] == [None] * 10


def test_a_run_that_never_closes_still_shows_the_cursor_again():
    script = """
from rich.console import Console as Terminal
from spotter.sinks.console import Console
from tests.sinks.terminal.scripted import start

Console(Terminal(force_terminal=True, width=80, height=24)).open(start())
raise SystemExit(3)
"""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root, env=environment, capture_output=True, check=False
    )
    output = done.stdout.decode()
    assert done.returncode == 3, done.stderr.decode()
    assert output.rindex(SHOW) > output.rindex(HIDE)


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are POSIX")
class TestInAPseudoTerminal:
    """The real command on a real terminal of 100 by 40."""

    def test_the_table_and_the_verdict(self):
        code, output = in_a_terminal("train", "CartPole-v1:ppo", "budget.env_steps=3000", *QUICK)
        lines = [line.rstrip() for line in screen(without_styles(output).replace("\r\n", "\n"))]
        assert code == 0, output
        # drawn many times, yet one table is left, with the box below it
        assert sum("value     change  trend" in line for line in lines) == 1
        assert any(line.split()[:2] == ["train", "score"] for line in lines)
        assert any("NOT SOLVED" in line and line.startswith(" ╭") for line in lines)
        assert any(line.startswith(" │  run ") for line in lines)
        assert max(len(line) for line in lines if "━" in line or "▁" in line) <= 100
        assert output.rindex(SHOW) > output.rindex(HIDE)

    def test_ctrl_c_gives_the_terminal_back(self):
        code, output = in_a_terminal(
            "train",
            "CartPole-v1:ppo",
            "budget.env_steps=1e8",
            "env.threshold=1e9",
            *QUICK,
            interrupt=True,
        )
        assert code == 130, output
        assert "INTERRUPTED" in without_styles(output)
        assert output.rindex(SHOW) > output.rindex(HIDE)


def in_a_terminal(*args, interrupt=False):
    """Exit code and everything written; Ctrl-C once the table shows a score, if asked."""
    import pty
    import termios

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 100))
    command = [str(Path(sys.executable).parent / "spotter"), *args]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "", "LINES": ""}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    too_late = threading.Timer(60, process.kill)
    too_late.start()
    output = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # how Linux says that the other end is closed
            part = b""
        if not part:
            break
        output += part
        if interrupt and re.search(rb"score.{0,40}\d\.\d\d", output):
            process.send_signal(signal.SIGINT)
            interrupt = False
    os.close(ours)
    too_late.cancel()
    return process.wait(timeout=600), output.decode()
