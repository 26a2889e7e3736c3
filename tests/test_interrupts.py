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
