"""One HTTP exchange with a hard time limit, whatever the other end does.

A server can drip its status, headers, chunk sizes or text so slowly that no single read is ever
late. So the exchange has a thread, which is waited for only so long; then its socket is shut down,
which ends the thread too. Redirects are not followed: every reply is handed back as it is.
"""

import http.client
import socket
import threading
import urllib.request
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

_BLOCK: Final = 1 << 16


@dataclass(frozen=True)
class Reply:
    """What came back, whatever its code."""

    code: int
    reason: str
    retry_after: str
    body: bytes
    """Not whole if it is longer than was asked for."""


@dataclass(frozen=True)
class Post:
    """What to send, and how much to take."""

    url: str
    body: bytes
    headers: Mapping[str, str]
    most_bytes: int
    is_near: bool
    """A proxy does not know this machine."""

    def send(self, timeout_s: float) -> Reply:
        """`TimeoutError` if it takes longer; `OSError`, `HTTPException` or `ValueError` if it
        fails."""
        line = _Line()
        answer: Future[Reply] = Future()

        def exchange() -> None:
            try:
                answer.set_result(self._exchange(line, timeout_s))
            except BaseException as error:
                answer.set_exception(error)

        threading.Thread(target=exchange, name="review", daemon=True).start()
        try:
            return answer.result(timeout_s)
        finally:
            line.cut()

    def _exchange(self, line: "_Line", timeout_s: float) -> Reply:
        opener = urllib.request.OpenerDirector()  # follows no redirect, makes no error of a code
        opener.add_handler(urllib.request.ProxyHandler({} if self.is_near else None))
        opener.add_handler(urllib.request.UnknownHandler())
        opener.add_handler(line)
        request = urllib.request.Request(self.url, self.body, dict(self.headers), method="POST")
        with opener.open(request, timeout=timeout_s) as response:
            blocks, size = [], 0
            while size <= self.most_bytes and (block := response.read1(_BLOCK)):
                blocks.append(block)
                size += len(block)
            later = response.headers.get("Retry-After") or ""
            return Reply(response.status, str(response.reason), later, b"".join(blocks))


class _Line(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Opens the connections of one exchange, which can be cut from outside."""

    def __init__(self) -> None:
        super().__init__()
        self._sockets: list[socket.socket] = []
        self._is_cut = False
        self._lock = threading.Lock()

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_Plain, self), req)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_Secure, self), req)

    def add(self, one: socket.socket) -> None:
        with self._lock:
            if not self._is_cut:
                self._sockets.append(one)
                return
        one.close()
        raise TimeoutError("the caller no longer waits")

    def cut(self) -> None:
        with self._lock:
            self._is_cut = True
            for one in self._sockets:
                with suppress(OSError):  # it has ended on its own
                    socket.socket.shutdown(one, socket.SHUT_RDWR)  # TLS's own is for its thread


class _Plain(http.client.HTTPConnection):
    def __init__(self, line: _Line, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._line = line

    def connect(self) -> None:
        super().connect()
        self._line.add(self.sock)


class _Secure(_Plain, http.client.HTTPSConnection):
    pass
