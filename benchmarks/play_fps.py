"""How smooth playing in the browser can be: frames per second, and from a key to its frame.

Starts Studio on the loopback and plays over its websocket as a browser would, without drawing:

    python benchmarks/play_fps.py [RECIPE] [SECONDS]

Wall-clock numbers mean something on an idle machine only; seconds of processor time per frame
are printed beside them.
"""

import json
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

FAST = 60
_SERVER = """
import asyncio, json, sys
import uvicorn
from fastapi import FastAPI, WebSocket
from spotter.studio.arena import Arena
from spotter.studio.security import Door, Guard
from spotter.launch.worker import Worker

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
    """Frames per second that arrived, and the share that was dropped on the way."""
    first = listen(socket, "frame")["number"]
    began, count, last = time.perf_counter(), 0, first
    while time.perf_counter() - began < seconds:
        header = listen(socket, "frame")
        count, last = count + 1, header["number"]
    return count / (time.perf_counter() - began), 1 - count / max(1, last - first)


def latencies(socket: ClientConnection, presses: int) -> list[float]:
    """Milliseconds from a key to the first frame that shows it."""
    found = []
    for number in range(1, presses + 1):
        pause = time.perf_counter() + random.uniform(0.1, 0.3)  # quick fingers
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
    """Seconds a process and its children have used; None where /proc does not report it."""
    total, ticks = 0.0, os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
    try:
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(root)], capture_output=True, text=True, check=False
        ).stdout.split()
        for pid in (str(root), *children):
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
            fields = text.rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / ticks
    except OSError:
        return None
    return total


def measure(socket: ClientConnection, pid: int, recipe: str, fps: float, seconds: float) -> None:
    tell(socket, "fps", fps)
    rate(socket, 1)
    before = processor_s(pid)
    shown, dropped = rate(socket, seconds)
    after = processor_s(pid)
    print(f"{recipe} at {fps:g} steps/s: {shown:.1f} frames/s, {dropped:.1%} dropped")
    if before is not None and after is not None:
        cost = (after - before) / (shown * seconds)
        print(f"  processor time {1000 * cost:.1f} ms per frame, server and game")
    waits = sorted(latencies(socket, 60))
    print(
        f"  key to frame: median {statistics.median(waits):.0f} ms, "
        f"95 % {waits[int(0.95 * len(waits))]:.0f} ms, worst {waits[-1]:.0f} ms"
    )


def open_game(port: int, recipe: str) -> str:
    """Its name; waits for the server to listen."""
    order = {"source": recipe, "mode": "human", "seed": 1}
    for _ in range(60):
        try:
            answer = httpx.post(f"http://127.0.0.1:{port}/open", json=order)
        except httpx.ConnectError:
            time.sleep(1)
        else:
            return str(answer.json()["name"])
    sys.exit("the server did not start")


def main(recipe: str = "ALE/Pong-v5", seconds: str = "8") -> None:
    port = random.randint(20_000, 50_000)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "serve.py"
        script.write_text(_SERVER, encoding="utf-8")
        server = subprocess.Popen([sys.executable, script, str(port)])
        try:
            url = f"ws://127.0.0.1:{port}/ws/play/{open_game(port, recipe)}"
            with connect(url, origin=Origin(f"http://127.0.0.1:{port}")) as socket:
                own_pace = listen(socket, "ready")["fps"]
                for fps in (own_pace, FAST):
                    measure(socket, server.pid, recipe, fps, float(seconds))
        finally:
            server.terminate()
            server.wait(10)


if __name__ == "__main__":
    main(*sys.argv[1:])
