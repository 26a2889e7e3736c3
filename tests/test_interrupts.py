"""The first signal asks, the second insists; afterwards everything is as before."""

import os
import signal
import threading
import time

import pytest

from spotter.interrupts import Interrupts


def send(name):
    os.kill(os.getpid(), getattr(signal, name))
    time.sleep(0.01)


@pytest.mark.skipif(os.name == "nt", reason="os.kill ends the process on Windows")
@pytest.mark.parametrize(("name", "reason"), [("SIGINT", "interrupted"), ("SIGTERM", "terminated")])
def test_one_signal_asks_and_two_insist(name, reason):
    said = []
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        interrupts.on_request = said.append
        assert not interrupts.stopping()
        send(name)
        assert interrupts.stopping()
        assert interrupts.requested == reason
        with pytest.raises(KeyboardInterrupt):
            send(name)
    assert said == ["stopping after this update; once more to exit at once"]
    assert signal.getsignal(signal.SIGINT) is before


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
    monkeypatch.setattr("spotter.interrupts._INSIST_S", 0.1)
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
