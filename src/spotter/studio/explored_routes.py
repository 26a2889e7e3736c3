"""The addresses from which a browser gets an exploration: its map, frames, and films."""

from typing import Final
from urllib.parse import quote

from fastapi.responses import FileResponse, PlainTextResponse, Response
from nicegui import app

from spotter.launch.worker import WorkerError
from spotter.studio.explored import BusyError, Explored
from spotter.types import UserError

_FRESH: Final = {"cache-control": "no-cache"}
# A digest stands for the game and all actions: what is seen there never changes.
_KEEP: Final = {"cache-control": "private, max-age=86400"}
_PROBLEM: Final = "x-spotter-problem"


def register(explored: Explored) -> None:
    @app.get("/api/explored/{name}.json")
    def numbers(name: str, since: str = "") -> Response:
        """Nothing where nothing was saved `since`."""
        try:
            opened = explored.opened(name)
        except UserError as error:
            return PlainTextResponse(str(error), 404)
        if opened.stamp == since:
            return Response(status_code=204)
        return Response(opened.data, media_type="application/json", headers=_FRESH)

    @app.get("/api/explored/{name}/{digest}.jpg")
    async def frame(name: str, digest: str) -> Response:
        try:
            picture, problem = await explored.frame(name, digest)
        except BusyError as error:
            return PlainTextResponse(str(error), 503)
        except (UserError, WorkerError) as error:
            return PlainTextResponse(str(error), 404)
        headers = _KEEP | {_PROBLEM: quote(problem)}  # what a header holds is ASCII, on one line
        return Response(picture, media_type="image/jpeg", headers=headers)

    @app.get("/api/explored/{name}/films/{file}")
    def film(name: str, file: str) -> Response:
        try:
            path = explored.film_path(name, file)
        except UserError as error:
            return PlainTextResponse(str(error), 404)
        return FileResponse(path, media_type="video/mp4", headers=_FRESH)
