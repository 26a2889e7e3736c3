"""What Studio shows of explorations: an archive as data a browser can draw, frames, and films.

An archive is read once per save of its file. Frames are played in the worker, a whole way at a
time, and kept in memory; a film is kept in the folder of its exploration. No torch here, and no web
code.
"""

import asyncio
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from spotter.explore import map as maps
from spotter.explore import tree
from spotter.explore.archive import Archive, load
from spotter.explore.cells import FRAMES, HEIGHT, WIDTH
from spotter.explore.shelf import Shelf, stamp
from spotter.launch.worker import Worker
from spotter.studio.viewer import packed
from spotter.types import UserError

FILMS: Final = "films"
_MOST_NODES: Final = 200_000
_OPEN: Final = 2  # archives kept in memory
_MOST_KEPT: Final = 48_000_000  # bytes of frames; one has some ten thousand
_MOST_AT_ONCE: Final = 160  # frames of one way; of a longer one the last
_MOST_WAITING: Final = 8
_PATIENCE_S: Final = 30.0  # for one way
_MOST_FILM_S: Final = 600.0
_PLAYING: Final = "spotter.studio.explored_playing"


class BusyError(UserError):
    """Too many ways are waiting to be played."""


@dataclass(frozen=True, eq=False)
class Opened:
    """An archive as it was saved last."""

    stamp: str
    archive: Archive
    about: dict[str, Any]
    digests: list[str]
    numbers: dict[str, int]
    """Nodes by their digest."""
    data: bytes
    """All of it as JSON."""

    def node(self, digest: str) -> int:
        if digest not in self.numbers:
            raise UserError("this way is no longer in the archive: a better one was found")
        return self.numbers[digest]


class Explored:
    """Explorations that were opened lately, and frames of them."""

    def __init__(self, shelf: Shelf, worker: Worker) -> None:
        self.shelf, self._worker = shelf, worker
        self._lock = threading.Lock()
        self._open: OrderedDict[str, Opened] = OrderedDict()
        self._frames: OrderedDict[str, tuple[bytes, str]] = OrderedDict()
        self._kept = 0
        self._playing: dict[str, asyncio.Task[None]] = {}

    def opened(self, name: str) -> Opened:
        """Any thread may ask; it takes a moment after each save."""
        folder = self.shelf.folder(name)
        now = stamp(folder)
        with self._lock:
            known = self._open.pop(name, None)
            if known is None or known.stamp != now:
                known = _opened(folder, now)
            self._open[name] = known
            while len(self._open) > _OPEN:
                self._open.popitem(last=False)
        return known

    async def frame(self, name: str, digest: str) -> tuple[bytes, str]:
        """What is seen at the end of a way, as JPEG, and why it may be wrong; empty if it is not.

        Playing a way shows everything that lies on it, so a look at what came before is quick.
        """
        opened = await asyncio.to_thread(self.opened, name)
        number = opened.node(digest)
        if digest not in self._frames:
            task = self._playing.get(digest)
            if task is None:
                if len(self._playing) >= _MOST_WAITING:
                    raise BusyError("several ways are being played; try again in a moment")
                task = asyncio.create_task(self._play(self.shelf.folder(name), opened, number))
                self._playing[digest] = task
                task.add_done_callback(lambda _: self._playing.pop(digest, None))
            await asyncio.shield(task)  # one who leaves does not take it from others
        self._frames.move_to_end(digest)
        return self._frames[digest]

    async def _play(self, folder: Path, opened: Opened, number: int) -> None:
        archive, chain = opened.archive, tree.chain(opened.archive, number)
        shown = chain[-_MOST_AT_ONCE:]
        before = archive.way(shown[0])
        pieces = [before, *(archive.nodes[one].actions.tolist() for one in shown[1:])]
        at_end = [cell for cell, entry in archive.entries.items() if entry.node == number]
        pictures, problem = await self._worker.run(
            f"{_PLAYING}:frames",
            folder=str(folder),
            about=_played(opened.about),
            pieces=pieces,
            score=archive.nodes[number].score,
            cell=at_end[0] if at_end else None,
            within_s=_PATIENCE_S,
        )
        for one, picture in zip(shown, pictures, strict=True):
            self._keep(opened.digests[one], picture, problem)

    def _keep(self, digest: str, picture: bytes, problem: str) -> None:
        old = self._frames.pop(digest, (b"", ""))
        self._frames[digest] = (picture, problem)
        self._kept += len(picture) - len(old[0])
        while self._kept > _MOST_KEPT and len(self._frames) > _MOST_AT_ONCE:
            self._kept -= len(self._frames.popitem(last=False)[1][0])

    async def film(self, name: str, digest: str) -> tuple[str, bool]:
        """Make the film of a way if there is none; its name, and whether it was cut."""
        opened = await asyncio.to_thread(self.opened, name)
        actions = opened.archive.way(opened.node(digest))
        file = film_name(digest)
        path = self.shelf.folder(name) / FILMS / file
        if path.is_file():
            self.film_path(name, file)
            return file, False
        made = await self._worker.run(
            f"{_PLAYING}:film",
            report=lambda data: None,
            folder=str(self.shelf.folder(name)),
            about=_played(opened.about),
            actions=actions,
            path=str(path),
            max_s=_MOST_FILM_S,
        )
        return file, bool(made)

    def film_path(self, name: str, file: str) -> Path:
        """A film that was made; no link out of its exploration."""
        folder = self.shelf.folder(name)
        path = folder / FILMS / file
        digest = file.removeprefix("way-").removesuffix(".mp4")
        is_one = file == film_name(digest) and digest.isalnum() and digest.isascii()
        if not is_one or not path.is_file():
            raise UserError(f"exploration {name} has no film of that name")
        if not path.resolve().is_relative_to(folder.resolve()):
            raise UserError(f"{file} of exploration {name} is a link that leads out of it")
        return path


def film_name(digest: str) -> str:
    return f"way-{digest}.mp4"


def _played(about: dict[str, Any]) -> dict[str, Any]:
    """What the worker needs to know."""
    return {key: about[key] for key in ("settings", "names", "seal") if key in about}


def _opened(folder: Path, now: str) -> Opened:
    archive, about = load(folder)
    if len(archive.nodes) > _MOST_NODES:
        raise UserError(
            f"exploration {folder.name} has {len(archive.nodes):,} places on its ways, and a page "
            f"draws {_MOST_NODES:,} at the most"
        )
    digests = tree.digests(archive, about["settings"])
    numbers = {digest: number for number, digest in enumerate(digests)}
    saved = (folder / "archive.npz").stat().st_mtime
    data = {"stamp": now, "saved": saved, **details(archive, about), "ids": "".join(digests)}
    return Opened(now, archive, about, digests, numbers, orjson.dumps(data))


def details(archive: Archive, about: dict[str, Any]) -> dict[str, Any]:
    """Everything but frames, as JSON can hold it."""
    settings, entries, nodes = about["settings"], archive.entries, archive.nodes
    how, env_id = settings["cells"], settings["env"]["id"]
    drawn = maps.drawn(list(entries), how, env_id)
    parents = [node.parent for node in nodes]
    cell = np.full(len(nodes), -1)
    cell[[entry.node for entry in entries.values()]] = np.arange(len(entries))
    is_frames = how == FRAMES
    return {
        "about": {
            "game": env_id, "cells": how, "seed": settings["seed"], "steps": settings["steps"],
            "frames": int(about["frames"]), "starts": int(about["starts"]),
            "seconds": float(about["seconds"]),
        },
        "best": archive.best,
        "map": {
            "fields": drawn.fields, "rooms": drawn.rooms, "is_grid": drawn.is_grid,
            "is_upwards": drawn.is_upwards, "values": packed(drawn.values, "i4"),
            "room": packed(drawn.room, "i4"), "x": packed(drawn.x, "i4"),
            "y": packed(drawn.y, "i4"),
            "small": _small(list(entries)) if is_frames else None,
        },
        "cells": {
            "node": packed(np.array([entry.node for entry in entries.values()]), "i4"),
            "visits": packed(np.array([entry.visits for entry in entries.values()]), "f8"),
            "chosen": packed(np.array([entry.chosen for entry in entries.values()]), "f8"),
        },
        "tree": {
            "parent": packed(np.array(parents), "i4"),
            "score": packed(np.array([node.score for node in nodes]), "f8"),
            "length": packed(np.array([node.length for node in nodes]), "i4"),
            "row": packed(tree.rows(parents), "f4"),
            "cell": packed(cell, "i4"),
        },
    }  # fmt: skip


def _small(found: list[bytes]) -> dict[str, object]:
    """Cells that are small frames; the brightest grey of any becomes white, as games are dark."""
    grey = np.frombuffer(b"".join(found), np.uint8).reshape(len(found), WIDTH * HEIGHT)
    shades = grey.astype(np.int32) * 255 // max(1, int(grey.max()))
    return {"width": WIDTH, "height": HEIGHT, "pixels": packed(shades, "u1")}
