"""The first signal asks, the second insists; afterwards everything is as before."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from spotter.system.interrupts import (
    EXIT_CODES,
    Interrupted,
    Interrupts,
    await_child,
    check,
    unless_closed,
)


def send(name):
    os.kill(os.getpid(), getattr(signal, name))
    time.sleep(0.01)


posix = pytest.mark.skipif(os.name == "nt", reason="os.kill ends the process on Windows")


@posix
@pytest.mark.parametrize(("name", "reason"), [("SIGINT", "interrupted"), ("SIGTERM", "terminated")])
def test_one_signal_asks_and_two_insist(name, reason, monkeypatch):
    monkeypatch.setattr("spotter.system.interrupts._SAME_REQUEST_S", 0.0)
    said = []
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        interrupts.begin()
        interrupts.on_request = said.append
        assert not interrupts.stopping()
        send(name)
        assert interrupts.stopping()
        assert interrupts.requested == reason
        with pytest.raises(Interrupted) as caught:
            send(name)
        assert caught.value.request == reason
        send("SIGHUP")
    assert said == ["stopping after this update; once more to exit at once"]
    assert signal.getsignal(signal.SIGINT) is before


@posix
def test_signals_that_come_together_are_one_request(monkeypatch):
    """As from `timeout`, which signals the process and then its group."""
    monkeypatch.setattr("spotter.system.interrupts._SAME_REQUEST_S", 600.0)
    with Interrupts() as interrupts:
        for name in ("SIGTERM", "SIGTERM", "SIGINT", "SIGHUP"):
            send(name)
        assert interrupts.requested == "terminated"


@posix
def test_a_closed_terminal_asks_unless_nohup_was_there_first():
    with Interrupts() as interrupts:
        send("SIGHUP")
        assert interrupts.requested == "hangup"
        assert EXIT_CODES["hangup"] == 128 + signal.SIGHUP
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            send("SIGHUP")
            assert interrupts.requested is None
    finally:
        signal.signal(signal.SIGHUP, before)


@posix
def test_before_anything_is_trained_a_signal_ends_it_where_it_waits():
    here, there = multiprocessing.Pipe()
    with Interrupts() as interrupts:
        check()
        there.send("ready")
        await_child(here)
        send("SIGTERM")
        with pytest.raises(Interrupted, match="terminated"):
            await_child(here)
        with pytest.raises(Interrupted):
            interrupts.begin()
    check()


@posix
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_before_anything_is_started_a_signal_ends_the_process_at_once(name):
    code = (
        "import os, signal, time\n"
        "from spotter.system.interrupts import exit_at_once\n"
        "with exit_at_once():\n"
        f"    os.kill(os.getpid(), signal.{name})\n"
        "    time.sleep(600)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 128 + getattr(signal, name)
    assert done.stderr.startswith("\nspotter: ")


def test_what_is_started_in_a_child_is_given_up_when_the_parent_closes_the_pipe():
    here, there = multiprocessing.Pipe()
    with unless_closed(there):
        check()
        here.close()
        with pytest.raises(Interrupted):
            check()
    check()


def test_other_threads_train_without_handlers():
    found = []

    def work():
        with Interrupts() as interrupts:
            found.append(interrupts.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [None]


def test_an_overdue_stop_is_asked_for_and_then_insisted_on(monkeypatch):
    monkeypatch.setattr("spotter.system.interrupts._INSIST_S", 0.1)
    said = []
    with Interrupts() as interrupts:
        interrupts.on_request = said.append
        with pytest.raises(KeyboardInterrupt), interrupts.overdue(0.1):
            for _ in range(100):  # an update that never ends
                time.sleep(0.05)
        assert interrupts.requested == "terminated"
    assert said == ["its minutes are long spent: stopping"]


@pytest.mark.parametrize("after_s", [None, 30.0])
def test_who_ends_in_time_is_left_alone(after_s):
    with Interrupts() as interrupts:
        with interrupts.overdue(after_s):
            started = threading.active_count()
        assert not interrupts.stopping()
    assert threading.active_count() <= started
