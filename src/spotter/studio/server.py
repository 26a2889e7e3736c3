"""Studio as one server process: NiceGUI pages, the files of runs, and the guard in front of both.

NiceGUI knows one application per process, so one process serves one folder of runs.
"""

import os
import socket
import sys
import webbrowser
from pathlib import Path
from typing import Final
from urllib.parse import quote

import uvicorn
from fastapi import FastAPI
from fastapi.responses import FileResponse, PlainTextResponse, Response
from nicegui import app as pages
from nicegui import ui
from starlette.types import ASGIApp

from spotter.launch.worker import Worker
from spotter.rundir.identity import FOLDER_VARIABLE, home
from spotter.studio.context import Context
from spotter.studio.pages import compare, explored, film, inspector, play
from spotter.studio.pages import run as run_page
from spotter.studio.pages import runs as runs_page
from spotter.studio.security import Guard
from spotter.system.request_guard import Door, listen
from spotter.types import UserError

PAGES: Final = (runs_page, run_page, compare, inspector, play, film, explored)
DEFAULT_PORT: Final = 7860
# What a run brings along may come from a stranger: it may show itself, but run nothing and ask
# for nothing, least of all in Studio's name.
_HARMLESS: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:"
)
_MEDIA: Final = {
    ".mp4": "video/mp4",
    ".html": "text/html",
    ".md": "text/plain",
    ".log": "text/plain",
}


def build(runs: Path, door: Door, worker: Worker | None = None) -> ASGIApp:
    """The whole application over a folder of runs."""
    runs = runs.resolve()
    os.environ[FOLDER_VARIABLE] = str(runs)  # for everything that asks `home()`, children too
    context = Context(runs, worker or Worker())
    for page in PAGES:
        page.register(context)
    _serve_files(context)
    pages.on_shutdown(context.worker.close)
    outer = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    ui.run_with(
        outer,
        title="Spotter Studio",
        favicon=_ICON,
        dark=None,
        reconnect_timeout=10,
        binding_refresh_interval=None,
        show_welcome_message=False,
    )
    return Guard(outer, door)


_ICON: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" '
    'rx="7" fill="#0b6e99"/><path d="M6 21l6-6 5 4 9-10" fill="none" stroke="#fff" '
    'stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/></svg>'
)


def _serve_files(context: Context) -> None:
    """Videos, reports and logs of runs; nothing else, and nothing outside a run."""

    def send(id: str, *parts: str) -> Response:
        try:
            path = context.file_of(id, *parts)
        except UserError as error:
            return PlainTextResponse(str(error), 404)
        if path.suffix not in _MEDIA:
            return PlainTextResponse(f"{path.name} is not served here", 404)
        headers = {"content-security-policy": _HARMLESS, "cache-control": "no-cache"}
        return FileResponse(path, media_type=_MEDIA[path.suffix], headers=headers)

    @pages.get("/files/{id}/videos/{name}")
    def video(id: str, name: str) -> Response:
        return send(id, "videos", name)

    @pages.get("/files/{id}/{name}")
    def file(id: str, name: str) -> Response:
        return send(id, name)


def serve(
    port: int = DEFAULT_PORT,
    host: str = "127.0.0.1",
    token: str | None = None,
    show: bool = True,
) -> None:
    """Serve the folder of runs until Ctrl-C; prints the address first."""
    door = Door.at(host, token)
    listening = listen(host, port)
    address = _address(host, listening.getsockname()[1], door.token)
    runs = home().resolve()
    config = uvicorn.Config(
        build(runs, door),
        log_level="warning",
        timeout_graceful_shutdown=1,
        ws_max_size=1 << 24,
        lifespan="on",
    )
    print(f"Spotter Studio: {address}", flush=True)
    print(f"runs in {runs}; Ctrl-C ends Studio, not the runs it started", flush=True)
    if show:
        webbrowser.open(address)
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        print("Studio has ended", file=sys.stderr)


def _address(host: str, port: int, token: str | None) -> str:
    shown = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    name = f"[{shown}]" if ":" in shown else shown
    return f"http://{name}:{port}/" + (f"?token={quote(token, safe='')}" if token else "")
