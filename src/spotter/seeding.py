"""One seed in the config, independent streams for everything that draws random numbers.

Streams are keyed by name, so adding a consumer never shifts the numbers another one sees, and
evaluation seeds cannot collide with training seeds by counting up into them.
"""

import zlib

import numpy as np


def integers(seed: int, stream: str, count: int) -> list[int]:
    """`count` distinct 31-bit seeds; the first k do not depend on `count`."""
    draw = generator(seed, stream)
    seen: dict[int, None] = {}
    while len(seen) < count:
        seen.setdefault(int(draw.integers(2**31 - 1)))
    return list(seen)


def integer(seed: int, stream: str) -> int:
    return integers(seed, stream, 1)[0]


def generator(seed: int, stream: str) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(stream.encode())]))
