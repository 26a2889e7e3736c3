"""The tree of ways: names of nodes that last, the way to a node as a chain, and rows to draw it in.

Nodes are numbered again with every saved file, so others know them by a digest of the game and of
all actions that lead there.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spotter.explore.archive import ROOT, Archive

_DIGEST: Final = 8  # bytes


def digests(archive: Archive, settings: Mapping[str, Any]) -> list[str]:
    """A name for each node: of what playing its way shows."""
    played = {name: settings[name] for name in ("env", "seed")}
    start = json.dumps(played, sort_keys=True).encode(errors="surrogatepass")
    found: list[bytes] = []
    for number, node in enumerate(archive.nodes):
        before = start if number == ROOT else found[node.parent]
        actions = node.actions.astype("<i2").tobytes()
        found.append(hashlib.blake2b(before + actions, digest_size=_DIGEST).digest())
    return [digest.hex() for digest in found]


def chain(archive: Archive, number: int) -> list[int]:
    """All nodes from the start of the game to this one."""
    found = [number]
    while found[-1] != ROOT:
        found.append(archive.nodes[found[-1]].parent)
    return found[::-1]


def rows(parents: Sequence[int]) -> npt.NDArray[np.float64]:
    """A row for each node: ways that end have one of their own, in the order of the tree, and a
    node lies in the middle of what leads on from it. Parents come before their children."""
    leads_to: list[list[int]] = [[] for _ in parents]
    for number, parent in enumerate(parents):
        if number != ROOT:
            leads_to[parent].append(number)
    found = np.zeros(len(parents))
    ends, waiting = 0, [ROOT]
    while waiting:  # no recursion: ways are long
        number = waiting.pop()
        waiting += reversed(leads_to[number])
        if not leads_to[number]:
            found[number] = ends
            ends += 1
    for number in reversed(range(len(parents))):
        if onward := leads_to[number]:
            found[number] = (found[onward[0]] + found[onward[-1]]) / 2
    return found
