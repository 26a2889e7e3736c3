"""Servers that speak just enough never to be late: the deadline holds for the whole exchange."""

import itertools
import socket
import threading
import time
from contextlib import contextmanager

import pytest

from spotter.review.client import Client, Endpoint
from spotter.types import UserError
from tests.review.server import Reply
from tests.review.test_client import HELLO, ask

OK = b"HTTP/1.1 200 OK\r\n"
DRIPS = {
    "continue": (b"", itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n")),
    "status": (b"HTTP/1.1 200 ", itertools.repeat(b"x")),
    "header": (OK + b"X-Long: ", itertools.repeat(b"x")),
    "chunk size": (OK + b"Transfer-Encoding: chunked\r\n\r\n", itertools.repeat(b"0")),
    "refusal": (b"HTTP/1.1 400 No\r\nContent-Length: 60000\r\n\r\n", itertools.repeat(b" ")),
    "silence": (OK, ()),
}


@contextmanager
def dripping(start, blocks, pause_s=0.02):
    """A server that says `start`, then the blocks, one by one; its address, and whether the other
    side has hung up."""
    ended = threading.Event()
    stopped = threading.Event()

    def serve():
        with listener.accept()[0] as line:
            line.recv(1 << 16)
            try:
                line.sendall(start)
                for block in blocks:
                    line.sendall(block)
                    if stopped.wait(pause_s):
                        return
                line.settimeout(10)
                while line.recv(1 << 16):
                    pass
            except OSError:
                pass
            ended.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1", ended
        finally:
            stopped.set()
            thread.join(12)


@pytest.mark.parametrize("drip", DRIPS)
def test_no_way_of_dripping_outlasts_the_deadline(drip):
    with dripping(*DRIPS[drip]) as (url, ended):
        started = time.monotonic()
        with pytest.raises(UserError, match="did not answer within 0 s"):
            Client(Endpoint(url, "tiny"), timeout_s=0.3).ask(HELLO)
        assert time.monotonic() - started < 600  # else it would never end
        assert ended.wait(600)  # the line is cut, nothing goes on behind our back
        asking = [thread for thread in threading.enumerate() if thread.name == "review"]
        for thread in asking:
            thread.join(60)
        assert not any(thread.is_alive() for thread in asking)


def test_further_attempts_share_the_deadline(model):
    model.answers(Reply(503, {}, {"Retry-After": "0"}, wait_s=0.25))
    with pytest.raises(UserError, match="did not answer within 0 s"):
        ask(model, timeout_s=0.4)
    assert len(model.requests) <= 2


def test_a_wait_beyond_the_deadline_is_not_begun(model):
    pauses = []
    model.answers(Reply(429, {"error": "later"}, {"Retry-After": "20"}), "too late")
    with pytest.raises(UserError, match=r"refused: 429 \(later\); it is too busy"):
        Client(Endpoint(model.url, "tiny"), 10, pauses.append).ask(HELLO)
    assert pauses == []
