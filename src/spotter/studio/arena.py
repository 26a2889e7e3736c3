"""Games people play in the browser: a process for each, frames out and keys in.

A message to the browser is four bytes (length of a header, little-endian), the header as JSON, and
the JPEG images it announces. Frames the browser is too slow for are dropped, events never are.
The process, with torch and the game in it, ends with its page or with the server, however that
ends; what it does is in `table.py`. One is kept ready, since the first seconds go into imports.
"""

import asyncio
import atexit
import json
import queue
import secrets
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from spotter.launch.worker import Worker
from spotter.studio.table import COMMAND, FRAME, NOTE, ORDER, packed, play
from spotter.system import children
from spotter.types import UserError

MOST_TABLES: Final = 6
GRACE_S: Final = 15.0
"""How long a game waits for its page, at first and when the connection broke."""
_SPARE_S: Final = 600.0
_PATIENCE_S: Final = 2.0
_LONGEST_COMMAND: Final = 400
_MOST_UNHEARD: Final = 200  # commands
_GONE: Final = "the process that played has ended; press Start to play on"


class Table:
    """One game and its process, as the server sees it."""

    def __init__(self, worker: Worker) -> None:
        # not a daemon: an environment may want processes of its own
        self._process, self._pipe = children.start(play, name="spotter-play", daemon=False)
        self._worker = worker
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[bool, bytes]] = deque()
        """(is an image, message) for the browser, in order."""
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_gone = False
        self.watchers = 0
        self._out: queue.Queue[bytes] = queue.Queue(_MOST_UNHEARD)
        for work in (self._listen, self._write):
            threading.Thread(target=work, daemon=True).start()

    def start(self, order: Mapping[str, object]) -> None:
        """Leave the present game, if there is one, for another."""
        self._send(ORDER + json.dumps(order).encode())

    def _listen(self) -> None:
        """In a thread: pass on what the process says."""
        with suppress(EOFError, OSError):
            while True:
                message = self._pipe.recv_bytes()
                self._call(message)
        self._call(None)

    def _call(self, message: bytes | None) -> None:
        with suppress(RuntimeError):  # the server is going down
            self._loop.call_soon_threadsafe(self._take, message)

    def _take(self, message: bytes | None) -> None:
        if message is None:
            if not self.is_gone:
                self.tell({"kind": "failed", "text": _GONE})
            self.is_gone = True
        elif message[:1] == NOTE:
            self._keep(json.loads(message[1:]))
        else:
            self._queue(message[:1] == FRAME, message[1:])

    def tell(self, header: Mapping[str, object]) -> None:
        self._queue(False, packed(header))

    def _queue(self, is_picture: bool, message: bytes) -> None:
        if is_picture and self._waiting and self._waiting[-1][0]:
            self._waiting.pop()  # not sent yet, and here is a newer one
        self._waiting.append((is_picture, message))
        self._news.set()

    def _keep(self, recording: dict[str, Any]) -> None:
        """Save an episode in the worker, which plays it again, while the game continues."""

        async def keep() -> None:
            try:
                folder = await self._worker.run("spotter.episodes.play:keep", **recording)
            except (UserError, RuntimeError) as error:
                self.tell({"kind": "said", "text": str(error), "bad": True})
            else:
                name = str(folder).replace("\\", "/").rsplit("/", 1)[-1]
                self.tell({"kind": "kept", "name": name, "score": recording["score"]})

        task = asyncio.create_task(keep())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def next(self) -> bytes:
        """What the browser shall hear next."""
        while not self._waiting:
            self._news.clear()
            await self._news.wait()
        return self._waiting.popleft()[1]

    def hear(self, command: str) -> None:
        """What the browser says, as JSON; nonsense is passed over in the process."""
        if len(command) <= _LONGEST_COMMAND:
            self._send(COMMAND + command.encode())

    def _send(self, message: bytes) -> None:
        if not self.is_gone:
            with suppress(queue.Full):  # it hears nothing; what is pressed now is lost
                self._out.put_nowait(message)

    def _write(self) -> None:
        """In a thread: a game that does not listen must not keep the server waiting."""
        with suppress(OSError, ValueError):
            while True:
                self._pipe.send_bytes(self._out.get())

    def stop(self) -> None:
        """Ask the process to end."""
        self._send(ORDER + b"null")
        self.is_gone = True

    def wait(self) -> None:
        """Give it time to close its game, then kill it."""
        children.end([self._process], _PATIENCE_S)
        with suppress(OSError):
            self._pipe.close()


class Arena:
    """All games of a server."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._tables: dict[str, Table] = {}
        self._spare: Table | None = None
        atexit.register(self.close)  # before multiprocessing waits for its children

    def prepare(self) -> None:
        """A user is about to play: have a process ready, for some minutes."""
        if self._spare is not None and not self._spare.is_gone:
            return
        spare = self._spare = Table(self._worker)

        def drop() -> None:
            if self._spare is spare:
                self._spare = None
                _end(spare)

        asyncio.get_running_loop().call_later(_SPARE_S, drop)

    def open(self, order: Mapping[str, object], name: str = "") -> str:
        """Start a game, in the process of `name` if it lives; the name the browser finds it by."""
        table = self._tables.get(name)
        if table is None or table.is_gone:
            self.leave(name)
            name, table = self._new_table()
        table.start(order)
        return name

    def _new_table(self) -> tuple[str, Table]:
        for name in [name for name, table in self._tables.items() if table.is_gone]:
            self.leave(name)
        if len(self._tables) >= MOST_TABLES:
            raise UserError(f"{MOST_TABLES} games are being played already; close one of them")
        name = secrets.token_urlsafe(16)
        self.prepare()
        table, self._spare = self._spare, None
        assert table is not None
        self._tables[name] = table
        self._close_if_alone(name)
        return name, table

    def leave(self, name: str) -> None:
        """End a game."""
        table = self._tables.pop(name, None)
        if table is not None:
            _end(table)

    def _close_if_alone(self, name: str) -> None:
        def check() -> None:
            table = self._tables.get(name)
            if table is not None and not table.watchers:
                self.leave(name)

        asyncio.get_running_loop().call_later(GRACE_S, check)

    async def serve(self, socket: WebSocket, name: str) -> None:
        """`/ws/play/{name}`; origin and token were checked by the guard before."""
        table = self._tables.get(name)
        if table is None or table.watchers:
            await socket.close(4404, "there is no such game")
            return
        await socket.accept()
        table.watchers += 1
        sending = asyncio.create_task(_forward(table, socket))
        try:
            while True:
                table.hear(await socket.receive_text())
        except (WebSocketDisconnect, RuntimeError, KeyError):
            pass
        finally:
            sending.cancel()
            table.watchers -= 1
            table.hear('{"do": "release"}')
            self._close_if_alone(name)

    def close(self) -> None:
        """End them all, and wait for it."""
        tables, self._tables = list(self._tables.values()), {}
        if self._spare is not None:
            tables.append(self._spare)
            self._spare = None
        for table in tables:
            table.stop()
        for table in tables:
            table.wait()


async def _forward(table: Table, socket: WebSocket) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):
        while True:
            await socket.send_bytes(await table.next())


def _end(table: Table) -> None:
    """Without keeping anybody waiting."""
    table.stop()
    threading.Thread(target=table.wait, daemon=True).start()
