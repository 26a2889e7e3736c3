"""A model server on this machine that answers as it is told."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """What the server does with one request."""

    code: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    blocks: int = 1
    """So often the body is written."""


def completion(text: Any, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **more}
    return {"id": "1", "object": "chat.completion", "model": "tiny-2", "choices": [choice]}


@dataclass
class Model:
    """The server: what it will answer, and what it was asked."""

    url: str
    replies: list[Reply] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def answers(self, *replies: Any) -> None:
        """Texts, or whole replies; the last one again and again."""
        self.replies = [
            reply if isinstance(reply, Reply) else Reply(body=completion(reply))
            for reply in replies
        ]

    def next(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def _handler(model: Callable[[], Model]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            here = model()
            body = self.rfile.read(int(self.headers["Content-Length"]))
            here.requests.append(json.loads(body))
            here.headers.append(dict(self.headers))
            here.paths.append(self.path)
            reply = here.next()
            here.stopped.wait(reply.wait_s)
            data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            try:
                self.send_response(reply.code)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data) * reply.blocks))
                self.end_headers()
                for _ in range(reply.blocks):
                    self.wfile.write(data)
                    if reply.blocks > 1 and reply.headers.get("X-Drip"):
                        time.sleep(float(reply.headers["X-Drip"]))
            except OSError:
                pass  # who asked has gone

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def no_model(monkeypatch: Any) -> None:
    """Whatever the person who tests has set up."""
    for name in ("URL", "MODEL", "KEY"):
        monkeypatch.delenv(f"SPOTTER_LLM_{name}", raising=False)


@contextmanager
def serving(monkeypatch: Any) -> Iterator[Model]:
    """A server, set up as the user's model."""
    found: list[Model] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(lambda: found[0]))
    found.append(Model(f"http://127.0.0.1:{server.server_port}/v1"))
    found[0].answers("Lower `algo.lr`.")
    monkeypatch.setenv("SPOTTER_LLM_URL", found[0].url)
    monkeypatch.setenv("SPOTTER_LLM_MODEL", "tiny")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield found[0]
    finally:
        found[0].stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()
