"""Arrays of an .npz file from anywhere: each is known to be small enough before it is read."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

from spotter.rundir.files import open_plain

MOST_BYTES: Final = 500_000_000
"""Of all arrays that are asked for, unpacked."""

Array = npt.NDArray[Any]
Kinds = Mapping[str, tuple[str, int]]
"""Of each array what it holds, as `numpy.dtype.kind`, and its dimensions."""


def read(path: Path, kinds: Kinds, most: int = MOST_BYTES) -> dict[str, Array]:
    """The arrays of these names; `ValueError` or `KeyError` for what is not as it should be."""
    with open_plain(path) as file, ZipFile(file) as archive:
        size = sum(archive.getinfo(f"{name}.npy").file_size for name in kinds)
        if size > most:
            raise ValueError(f"its arrays have {size:,} bytes, of {most:,} at the most")
        return {name: _array(archive, name, *kind) for name, kind in kinds.items()}


def _array(archive: ZipFile, name: str, kind: str, dimensions: int) -> Array:
    # zipfile gives no more than was announced, so a header that claims more cannot be served
    stream = io.BytesIO(archive.read(f"{name}.npy"))
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"{name} is in a format of NumPy that is not known here")
    shape, is_by_column, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.kind != kind or len(shape) != dimensions or (is_by_column and dimensions > 1):
        raise ValueError(f"{name} holds {dtype} of shape {shape}")
    found: Array = np.frombuffer(stream.getbuffer()[stream.tell() :], dtype).reshape(shape)
    return found
