"""The archive of Go-Explore: the best way into every cell that was ever reached.

Ways are branches of a tree: a node is some actions after another node, so that a thousand ways
through the first room hold it once. A file holds the tree and the counts, and no state of any game:
states are come by again by playing the actions.
"""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from spotter.explore.cells import Cell
from spotter.rundir.files import write_atomic
from spotter.types import UserError

FILE: Final = "archive.npz"
FORMAT: Final = 1
ROOT: Final = 0
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
        cells = list(self.entries)
        entries = list(self.entries.values())
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            about=np.array(json.dumps({"format": FORMAT, **about})),
            parent=np.array([numbers.get(node.parent, -1) for node in nodes], np.int32),
            count=np.array([len(node.actions) for node in nodes], np.int32),
            actions=np.concatenate([node.actions for node in nodes]),
            score=np.array([node.score for node in nodes]),
            length=np.array([node.length for node in nodes], np.int32),
            cell=np.frombuffer(b"".join(cells), np.uint8).reshape(len(cells), -1),
            node=np.array([numbers[entry.node] for entry in entries], np.int32),
            visits=np.array([entry.visits for entry in entries], np.int64),
            chosen=np.array([entry.chosen for entry in entries], np.int64),
        )
        write_atomic(folder / FILE, buffer.getvalue())


def load(folder: Path) -> tuple[Archive, dict[str, Any]]:
    """An archive, and what was said about it."""
    path = folder / FILE
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            data = {name: file[name] for name in file.files}
        about = json.loads(str(data["about"]))
        if about["format"] > FORMAT:
            raise UserError(f"{path} was written by a newer version of Spotter")
        pieces = np.split(data["actions"].astype(np.int16), np.cumsum(data["count"])[:-1])
        columns = zip(data["parent"], pieces, data["score"], data["length"], strict=True)
        nodes = [Node(int(p), a, float(s), int(n)) for p, a, s, n in columns]
        rows = zip(data["cell"], data["node"], data["visits"], data["chosen"], strict=True)
        entries = {cell.tobytes(): Entry(int(n), int(v), int(c)) for cell, n, v, c in rows}
        assert all(-1 <= node.parent < i for i, node in enumerate(nodes))
        assert all(0 <= entry.node < len(nodes) for entry in entries.values())
    except (OSError, ValueError, KeyError, AssertionError, EOFError, BadZipFile) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"{path} is no archive that can be read: {reason}") from error
    archive = Archive(nodes, entries)
    archive.find_best()
    return archive, about
