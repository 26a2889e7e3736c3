"""How smooth playing in the browser can be: pictures per second, and from a key to its picture.

Starts Studio on the loopback and plays over its websocket as a browser would, without drawing:

    python benchmarks/play_fps.py [RECIPE] [SECONDS]

Wall-clock numbers mean something on an idle machine only; seconds of processor time per picture
are printed beside them.
"""

import json
import os
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from typing import Any

from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

FPS = 60
_SERVER = """
import asyncio, json, sys
import uvicorn
from fastapi import FastAPI, WebSocket
from spotter.studio.arena import Arena
from spotter.studio.security import Door, Guard
from spotter.studio.worker import Worker

arena = Arena(Worker())
app = FastAPI()

@app.post("/open")
async def open(order: dict) -> dict:
    return {"name": arena.open(order)}

@app.websocket("/ws/play/{name}")
async def talk(socket: WebSocket, name: str) -> None:
    await arena.serve(socket, name)

if __name__ == "__main__":
    guard = Guard(app, Door.at("127.0.0.1", None))
    uvicorn.run(guard, port=int(sys.argv[1]), log_level="warning")
    arena.close()
"""


def header_of(message: Any) -> dict[str, Any]:
    size = struct.unpack("<I", message[:4])[0]
    header: dict[str, Any] = json.loads(message[4 : 4 + size])
    return header


def listen(socket: ClientConnection, kind: str) -> dict[str, Any]:
    while True:
        header = header_of(socket.recv(timeout=120))
        if header["kind"] == "failed":
            sys.exit(header["text"])
        if header["kind"] == kind:
            return header


def tell(socket: ClientConnection, word: str, value: Any = None, **more: Any) -> None:
    socket.send(json.dumps({"do": word, "value": value, **more}))


def rate(socket: ClientConnection, seconds: float) -> tuple[float, float]:
    """Pictures per second that arrived, and the share that was dropped on the way."""
    first = listen(socket, "frame")["number"]
    began, count, last = time.perf_counter(), 0, first
    while time.perf_counter() - began < seconds:
        header = listen(socket, "frame")
        count, last = count + 1, header["number"]
    return count / (time.perf_counter() - began), 1 - count / max(1, last - first)


def latencies(socket: ClientConnection, presses: int) -> list[float]:
    """Milliseconds from a key to the first picture that answers it."""
    found = []
    for number in range(1, presses + 1):
        pause = time.perf_counter() + random.uniform(0.02, 0.06)
        while time.perf_counter() < pause:
            listen(socket, "frame")
        key = "ArrowRight" if number % 2 else "ArrowLeft"
        began = time.perf_counter()
        tell(socket, "down", key, number=number)
        while listen(socket, "frame")["heard"] < number:
            pass
        found.append(1000 * (time.perf_counter() - began))
        tell(socket, "up", key, number=number)
    return found


def processor_s(root: int) -> float | None:
    """Seconds a process and its children have used; None where /proc does not tell."""
    total, ticks = 0.0, os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
    try:
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(root)], capture_output=True, text=True, check=False
        ).stdout.split()
        for pid in (str(root), *children):
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123
                fields = file.read().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / ticks
    except OSError:
        return None
    return total


def main(recipe: str = "ALE/Pong-v5", seconds: str = "8") -> None:
    import httpx

    port = random.randint(20_000, 50_000)
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "serve.py")  # noqa: PTH118
        with open(script, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(_SERVER)
        server = subprocess.Popen([sys.executable, script, str(port)])
        try:
            time.sleep(2)
            for _ in range(60):
                try:
                    order = {"source": recipe, "mode": "human", "seed": 1, "fps": FPS}
                    name = httpx.post(f"http://127.0.0.1:{port}/open", json=order).json()["name"]
                    break
                except httpx.ConnectError:
                    time.sleep(1)
            url = f"ws://127.0.0.1:{port}/ws/play/{name}"
            with connect(url, origin=Origin(f"http://127.0.0.1:{port}")) as socket:
                listen(socket, "ready")
                rate(socket, 1)
                before = processor_s(server.pid)
                shown, dropped = rate(socket, float(seconds))
                after = processor_s(server.pid)
                print(f"{recipe} at {FPS} steps/s: {shown:.1f} pictures/s, {dropped:.1%} dropped")
                if before is not None and after is not None:
                    cost = (after - before) / (shown * float(seconds))
                    print(f"processor time {1000 * cost:.1f} ms per picture, server and game")
                waits = sorted(latencies(socket, 60))
                print(
                    f"key to picture: median {statistics.median(waits):.0f} ms, "
                    f"95 % {waits[int(0.95 * len(waits))]:.0f} ms, worst {waits[-1]:.0f} ms"
                )
        finally:
            server.terminate()
            server.wait(10)


if __name__ == "__main__":
    main(*[argument for argument in sys.argv[1:] if re.fullmatch(r"[\w./:-]+", argument)])
