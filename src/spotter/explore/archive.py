"""The archive of Go-Explore: the best way into every cell that was ever reached.

Ways are branches of a tree: a node is some actions after another node, so that a thousand ways
through the first room hold it once. A file holds the tree and the counts, and no state of any game:
states are come by again by playing the actions.
"""

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spotter.explore import arrays, cells
from spotter.explore.cells import Cell
from spotter.rundir import trust
from spotter.rundir.files import MOST_JSON, UNREADABLE, write_atomic
from spotter.types import UserError

FILE: Final = "archive.npz"
FORMAT: Final = 1
ROOT: Final = 0
_MOST_NODES: Final = 2_000_000
_ARRAYS: Final = {
    "parent": ("i", 1), "count": ("i", 1), "actions": ("i", 1), "score": ("f", 1),
    "length": ("i", 1), "cell": ("u", 2), "node": ("i", 1), "visits": ("i", 1), "chosen": ("i", 1),
}  # fmt: skip
Actions = npt.NDArray[np.int16]


@dataclass(slots=True)
class Node:
    """A place in the tree: some actions after its parent."""

    parent: int
    actions: Actions
    score: float
    length: int
    """Actions from the start of the game."""


@dataclass(slots=True)
class Entry:
    """A cell, and the best way there."""

    node: int
    visits: int = 1
    """How often it was passed through."""
    chosen: int = 0
    """How often exploring started from it."""


@dataclass
class Archive:
    """All cells, in the order in which they were found."""

    nodes: list[Node] = field(default_factory=list)
    entries: dict[Cell, Entry] = field(default_factory=dict)
    best: int = ROOT
    """The node with the highest score, by the shortest way."""

    def begin(self, cell: Cell) -> None:
        """The start of the game."""
        self.nodes.append(Node(-1, np.zeros(0, np.int16), 0.0, 0))
        self.entries[cell] = Entry(ROOT)

    def is_better(self, cell: Cell, score: float, length: int) -> bool:
        """Whether this way is worth keeping: a new cell, a higher score, or a shorter way."""
        entry = self.entries.get(cell)
        if entry is None:
            return True
        node = self.nodes[entry.node]
        return (score, -length) > (node.score, -node.length)

    def keep(self, cell: Cell, node: Node) -> int:
        """Take a way over; returns its number. What leads on from an older one stays."""
        self.nodes.append(node)
        number = len(self.nodes) - 1
        self.best = max(self.best, number, key=self._rank)
        entry = self.entries.get(cell)
        if entry is None:
            self.entries[cell] = Entry(number)
        else:
            entry.node, entry.chosen = number, 0
        return number

    def weights(self) -> npt.NDArray[np.float64]:
        """How likely each cell is to be started from: rarely seen and rarely tried ones first."""
        counts = np.array([(e.visits, e.chosen) for e in self.entries.values()], float)
        weights = 1 / np.sqrt(counts[:, 0]) + 1 / np.sqrt(1 + counts[:, 1])
        return np.asarray(weights / weights.sum())

    def way(self, number: int) -> list[int]:
        """All actions from the start of the game to a node."""
        pieces = []
        while number != ROOT:
            node = self.nodes[number]
            pieces.append(node.actions)
            number = node.parent
        return [int(action) for piece in reversed(pieces) for action in piece]

    def _rank(self, number: int) -> tuple[float, int]:
        return self.nodes[number].score, -self.nodes[number].length

    def find_best(self) -> None:
        """Of an archive that was not built here."""
        self.best = max((entry.node for entry in self.entries.values()), key=self._rank)

    def pruned(self) -> tuple[list[int], dict[int, int]]:
        """Nodes that some cell still needs, in their order, and their new numbers."""
        needed = {ROOT}
        for entry in self.entries.values():
            number = entry.node
            while number not in needed:
                needed.add(number)
                number = self.nodes[number].parent
        kept = sorted(needed)
        return kept, {old: new for new, old in enumerate(kept)}

    def save(self, folder: Path, about: Mapping[str, Any]) -> None:
        """All of it in one file, replaced at once."""
        kept, numbers = self.pruned()
        nodes = [self.nodes[number] for number in kept]
        entries = list(self.entries.values())
        marks = trust.marks(folder.resolve().name, about.get("settings", {}))
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            about=np.array(json.dumps({"format": FORMAT, **marks, **about})),
            parent=np.array([numbers.get(node.parent, -1) for node in nodes], np.int32),
            count=np.array([len(node.actions) for node in nodes], np.int32),
            actions=np.concatenate([node.actions for node in nodes]),
            score=np.array([node.score for node in nodes]),
            length=np.array([node.length for node in nodes], np.int32),
            cell=np.frombuffer(b"".join(self.entries), np.uint8).reshape(len(entries), -1),
            node=np.array([numbers[entry.node] for entry in entries], np.int32),
            visits=np.array([entry.visits for entry in entries], np.int64),
            chosen=np.array([entry.chosen for entry in entries], np.int64),
        )
        write_atomic(folder / FILE, buffer.getvalue())


def load(folder: Path) -> tuple[Archive, dict[str, Any]]:
    """An archive, and what was said about it; `UserError` for what cannot be one."""
    path = folder / FILE
    with _readable(path):
        about = _about(path)
        data = arrays.read(path, _ARRAYS)
        _check(data, cells.width(about["settings"]["cells"]))
        pieces = np.split(data["actions"].astype(np.int16), np.cumsum(data["count"])[:-1])
        columns = zip(data["parent"], pieces, data["score"], data["length"], strict=True)
        nodes = [Node(int(p), a, float(s), int(n)) for p, a, s, n in columns]
        rows = zip(data["cell"], data["node"], data["visits"], data["chosen"], strict=True)
        entries = {cell.tobytes(): Entry(int(n), int(v), int(c)) for cell, n, v, c in rows}
        if len(entries) < len(data["cell"]):
            raise ValueError("it holds a cell twice")
    archive = Archive(nodes, entries)
    archive.find_best()
    return archive, about


@dataclass(frozen=True, slots=True)
class Glance:
    """What a list of explorations says of one."""

    about: dict[str, Any]
    cells: int
    best: float
    """The highest score of a way to a cell."""


def glance(folder: Path) -> Glance:
    """The same file, without making sense of its ways."""
    path = folder / FILE
    with _readable(path):
        about = _about(path)
        data = arrays.read(path, {name: _ARRAYS[name] for name in ("node", "score")})
        return Glance(about, len(data["node"]), float(data["score"][data["node"]].max()))


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except UserError:
        raise
    except UNREADABLE as error:
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"{path} is no archive that can be read: {reason}") from error


def _about(path: Path) -> dict[str, Any]:
    """With the settings that playing the ways needs."""
    text = str(arrays.read(path, {"about": ("U", 0)}, MOST_JSON)["about"])
    about: dict[str, Any] = json.loads(text)
    if about["format"] > FORMAT:
        raise UserError(f"{path} was written by a newer version of Spotter")
    settings = about["settings"]
    kinds = {"env": dict, "cells": str, "seed": int, "steps": int}
    wrong = [name for name, kind in kinds.items() if type(settings[name]) is not kind]
    wrong += [name for name in ("frames", "starts", "seconds") if not 0 <= about[name] < 1e18]
    if wrong or not isinstance(settings["env"].get("id"), str):
        raise ValueError(f"its settings are damaged: {', '.join(wrong) or 'env.id'}")
    return about


def _check(data: Mapping[str, arrays.Array], width: int) -> None:
    """What the rest relies on: a file from elsewhere may hold anything."""
    parent, count, length, node = (data[name] for name in ("parent", "count", "length", "node"))
    if not (0 < len(parent) <= _MOST_NODES and 0 < len(node) <= _MOST_NODES):
        raise ValueError(f"it has {len(parent):,} nodes and {len(node):,} cells")
    if parent[0] != -1 or not ((parent >= 0) & (parent < np.arange(len(parent))))[1:].all():
        raise ValueError("a node does not come after its parent")
    if count.min() < 0 or count.sum() != len(data["actions"]) or data["actions"].min(initial=0) < 0:
        raise ValueError("its actions are not those of its nodes")
    if count[0] or length[0] or (length[1:] != length[parent[1:]] + count[1:]).any():
        raise ValueError("a way is not as long as its actions")
    if not np.isfinite(data["score"]).all():
        raise ValueError("a score is no number")
    if node.min() < 0 or node.max() >= len(parent):
        raise ValueError("a cell has no way")
    if data["visits"].min() < 1 or data["chosen"].min() < 0 or data["cell"].shape[1] != width:
        raise ValueError("a cell is not what its settings say")
