"""The addresses from which a browser gets an episode: its numbers, its images, and files to keep.

Names are checked by the shelf before they become paths; whatever is wrong is one sentence, 404.
"""

from collections.abc import Callable
from typing import Final

import orjson
from fastapi.responses import PlainTextResponse, Response
from nicegui import app

from spotter.studio import viewer
from spotter.types import UserError

# Episodes never change, but a folder may be deleted and its name be given again.
_KEEP: Final = {"cache-control": "private, max-age=600"}
_FRESH: Final = {"cache-control": "no-cache"}


def register(shelf: viewer.Shelf) -> None:
    @app.get("/api/episode/{run}/{name}.json")
    def numbers(run: str, name: str) -> Response:
        return _answer(
            lambda: orjson.dumps(viewer.details(shelf.trace(run, name))), "application/json", _FRESH
        )

    @app.get("/api/episode/{run}/{name}.csv")
    def table(run: str, name: str, gamma: str = "", lam: str = "") -> Response:
        kept = _FRESH | {"content-disposition": f'attachment; filename="{run}-{name}.csv"'}
        return _answer(
            lambda: viewer.as_csv(
                shelf.trace(run, name), _share("gamma", gamma), _share("lambda", lam)
            ).encode(),
            "text/csv",
            kept,
        )

    @app.get("/api/episode/{run}/{name}.zip")
    def archive(run: str, name: str) -> Response:
        kept = _FRESH | {"content-disposition": f'attachment; filename="{run}-{name}.zip"'}
        return _answer(lambda: viewer.as_zip(shelf.folder(run, name)), "application/zip", kept)

    @app.get("/api/frame/{run}/{name}/{step}.jpg")
    def frame(run: str, name: str, step: str) -> Response:
        return _answer(lambda: viewer.frame(shelf.trace(run, name), _whole(step)), "image/jpeg")

    @app.get("/api/seen/{run}/{name}/{leaf}/{step}.png")
    def seen(run: str, name: str, leaf: str, step: str) -> Response:
        return _answer(
            lambda: viewer.seen(shelf.trace(run, name), _whole(leaf), _whole(step)), "image/png"
        )


def _answer(make: Callable[[], bytes], kind: str, headers: dict[str, str] = _KEEP) -> Response:
    try:
        return Response(make(), media_type=kind, headers=headers)
    except UserError as error:
        return PlainTextResponse(str(error), 404)


def _whole(text: str) -> int:
    if not (text.isdecimal() and len(text) < 10):
        raise UserError(f"'{text[:20]}' is not the number of a step")
    return int(text)


def _share(name: str, text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError as error:
        raise UserError(f"{name} must be from 0 to 1, not '{text[:20]}'") from error
