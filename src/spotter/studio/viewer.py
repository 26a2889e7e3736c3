"""What the inspector shows of a stored episode, as data a browser can draw by itself.

One JSON per episode holds every number of every step, so moving between steps needs no request.
Images come one at a time: the rendered frame as it was stored, and what the network saw as PNG.
No torch here, and no web code.
"""

import base64
import csv
import io
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spotter.charts.png import encode
from spotter.config import validate
from spotter.episodes import format as traces
from spotter.episodes.advantages import judged
from spotter.episodes.format import Meta, Trace
from spotter.episodes.labels import action_label, beliefs, choices, units
from spotter.episodes.rows import table
from spotter.rundir.run import Run, home
from spotter.types import UserError

MOST_VALUES: Final = 64
"""Numbers of a vector that are drawn as bars; the rest of a longer one is counted only."""
MOST_REMEMBERED: Final = 256
"""Numbers of a core's state that are drawn, a row each."""
_OPEN: Final = 4  # episodes kept open; their observations may be large
_RGB: Final = 3
_FILES: Final = ("trace.json", "arrays.npz", "frames.zip")

Array = npt.NDArray[Any]


class Shelf:
    """Episodes that were opened lately; any thread may ask."""

    def __init__(self, run_of: Callable[[str], Run]) -> None:
        self._run_of = run_of
        self._lock = threading.Lock()
        self._open: OrderedDict[tuple[Path, int], Trace] = OrderedDict()

    def folder(self, run_id: str, name: str) -> Path:
        """Where an episode lies; names are checked, and links out of the run are refused."""
        run = self._run_of(run_id)
        folder = traces.find(run, name)
        home = run.folder.resolve()
        for path in (folder, *(folder / file for file in _FILES)):
            if not path.resolve().is_relative_to(home):
                raise UserError(f"episode {name} of run {run_id} holds a link that leads out of it")
        return folder

    def trace(self, run_id: str, name: str) -> Trace:
        folder = self.folder(run_id, name)
        key = (folder, (folder / "trace.json").stat().st_mtime_ns)
        with self._lock:
            trace = self._open.pop(key, None)
            if trace is None:
                trace = traces.load(folder)
            self._open[key] = trace
            while len(self._open) > _OPEN:
                self._open.popitem(last=False)
        return trace


# --- numbers -------------------------------------------------------------------------------------


def details(trace: Trace) -> dict[str, object]:
    """Everything about an episode but its images, as JSON can hold it."""
    meta, columns = trace.meta, trace.columns
    width = columns["probability"].shape[1] if "probability" in columns else 0
    doubles = ("reward", "training_reward", "value")
    singles = ("probability", "mask", "greedy", "log_prob", "part", "info", "told")
    return {
        "meta": _meta(meta),
        "choices": list(_choices(meta, width)),
        "frames": len(trace.frames) > 0,
        **actions(trace),
        **axes(trace),
        **{name: packed(columns[name], "f8") for name in doubles if name in columns},
        **{name: packed(columns[name], "f4") for name in singles if name in columns},
        **{name: packed(column, "f4") for name, column in beliefs(trace).items()},
        **remembered(trace),
        "seen": [_leaf(trace, name) for name in columns if name.startswith("obs/")],
    }


def _meta(meta: Meta) -> dict[str, object]:
    kept = (
        "run", "checkpoint", "env_id", "mode", "seed", "gamma", "lam", "parts", "info", "score",
        "length", "end", "final_value", "fps", "action_kind", "changes", "warnings", "baseline",
        "baseline_mean", "credit",
    )  # fmt: skip
    return {name: _plain(vars(meta)[name]) for name in kept}


def _plain(value: object) -> Any:
    """NaN is no JSON."""
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return list(value) if isinstance(value, tuple) else value


def _choices(meta: Meta, width: int) -> Sequence[str]:
    names = choices(meta)
    return names if len(names) == width else [str(i) for i in range(width)]


def actions(trace: Trace) -> dict[str, object]:
    """What was done: words once, and for each step which of them; and what is marked as picked."""
    labels = [action_label(trace, step) for step in range(trace.meta.length)]
    places = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    return {
        "labels": list(places),
        "label": packed(np.array([places[label] for label in labels]), "i4"),
        "picked": _picked(trace),
    }


def axes(trace: Trace) -> dict[str, object]:
    """Actions that are numbers: what each axis is called, what was done on it, and its bounds.

    In the environment's units; in the policy's where an older episode does not know others.
    """
    meta = trace.meta
    if meta.action_kind != "box":
        return {}
    done, scale = trace.columns["action"].reshape(meta.length, -1), units(meta)
    bounds = (scale.low, scale.high) if scale else np.outer((-1.0, 1.0), np.ones(done.shape[1]))
    return {
        "axes": list(_choices(meta, done.shape[1])),
        "action": packed(scale.to_env(done) if scale else done.clip(-1, 1), "f8"),
        "bounds": [[_plain(float(bound)) for bound in side] for side in bounds],
    }


def remembered(trace: Trace) -> dict[str, object]:
    """What a core holds at every step: 0 … 255 for ±1, or for more where a core has no bounds."""
    if "state" not in trace.columns:
        return {}
    state = trace.columns["state"].astype(np.float32)
    reach = max(1.0, float(np.abs(np.nan_to_num(state)).max(initial=0.0)))
    shades = np.nan_to_num(state[:, :MOST_REMEMBERED] / reach * 127.5 + 127.5)
    return {
        "state": packed(np.rint(shades).clip(0, 255), "u1"),
        "remembers": {"size": state.shape[1], "reach": reach},
    }


def _picked(trace: Trace) -> dict[str, object] | None:
    """[T, A]: 1 where a column of `probability` was what the policy took."""
    meta, columns = trace.meta, trace.columns
    if "probability" not in columns:
        return None
    action, (steps, width) = columns["action"], columns["probability"].shape
    if meta.action_kind == "binary":
        return packed(action.reshape(steps, -1), "u1")
    picked = np.zeros((steps, width), np.uint8)
    chosen = action.reshape(steps, -1).astype(np.int64)
    starts = np.cumsum([0, *meta.nvec[:-1]]) if chosen.shape[1] > 1 else np.zeros(1, np.int64)
    np.put_along_axis(picked, chosen + starts, 1, axis=1)
    return packed(picked, "u1")


def packed(array: Array, kind: str) -> dict[str, object]:
    """Numbers as base64 of little-endian bytes: quick to read, small, and NaN survives."""
    data = np.ascontiguousarray(array, dtype=f"<{kind}")
    return {
        "kind": kind,
        "shape": list(data.shape),
        "data": base64.b64encode(data.tobytes()).decode(),
    }


def _leaf(trace: Trace, name: str) -> dict[str, object]:
    """One piece of an observation: an image to ask for, or its numbers."""
    column, path = trace.columns[name], name.removeprefix("obs/")
    stack = int(trace.meta.stacks.get(path, 1))
    if is_image(column):
        channels, height, width = column.shape[1:]
        tiles = _tiles(channels, stack)
        return {"path": path, "kind": "image", "stack": stack, "tiles": tiles,
                "height": height, "width": width}  # fmt: skip
    flat = column.reshape(len(column), -1)
    size = flat.shape[1]
    order = _newest_first(size, stack)[:MOST_VALUES]
    shown, known = flat[:, order], _value_names(trace.meta, path, size, stack)
    names = [known[place] for place in order]
    return {
        "path": path, "kind": "vector", "stack": stack, "names": names, "size": size,
        "reach": [float(x) for x in _reach(shown)], "values": packed(shown, "f4"),
    }  # fmt: skip


def is_image(column: Array) -> bool:
    """[T, C, H, W]."""
    return column.ndim == 4


def _reach(values: Array) -> Array:
    """The greatest absolute value of each component: how long a full bar is."""
    finite = np.nan_to_num(np.abs(values.astype(np.float64)), posinf=0.0)
    return np.asarray(finite.max(axis=0)) if len(finite) else np.ones(values.shape[1])


def _newest_first(size: int, stack: int) -> list[int]:
    """Where the numbers are, frame by frame; a stack holds its oldest frame first."""
    if stack <= 1 or size % stack:
        return list(range(size))
    places = np.arange(size).reshape(stack, -1)[::-1]
    return [int(place) for place in places.ravel()]


def _value_names(meta: Meta, path: str, size: int, stack: int) -> list[str]:
    """Of every number, oldest frame first; indices where there are no names."""
    once = size // max(stack, 1)
    names = observation_names(meta) if path == "obs" else ()
    if len(names) == size:  # the family itself says how long ago
        return list(names)
    single = list(names) if len(names) == once else [str(i) for i in range(once)]
    if stack <= 1 or once * stack != size:
        return single if len(single) == size else [str(i) for i in range(size)]
    ago = range(stack - 1, -1, -1)
    return [f"{name}, {back} ago" if back else name for back in ago for name in single]


def observation_names(meta: Meta) -> tuple[str, ...]:
    """What the family calls the numbers of an observation; empty if it cannot be asked."""
    from spotter.envs.base import family

    try:
        Run(home() / meta.run).check_trust(meta.settings)
        env = validate(dict(meta.settings)).env
        return tuple(family(env).describe(env).observation_names)
    except Exception:  # settings of another version, a family that is not installed: no names
        return ()


# --- images ------------------------------------------------------------------------------------


def frame(trace: Trace, step: int) -> bytes:
    """The rendered frame of a step as JPEG; the step after the last one is how it ended."""
    if not len(trace.frames):
        raise UserError("this episode has no frames")
    if step == len(trace.frames) and trace.frames.final:
        return trace.frames.final
    _check(trace, step)
    return bytes(trace.frames[step])


def seen(trace: Trace, leaf: int, step: int) -> bytes:
    """What the network saw as PNG: every frame of the stack side by side, oldest first."""
    _check(trace, step)
    names = [name for name in trace.columns if name.startswith("obs/")]
    if not 0 <= leaf < len(names):
        raise UserError(f"this episode has {len(names)} observations, not one number {leaf}")
    column = trace.columns[names[leaf]]
    if not is_image(column):
        raise UserError(f"observation {names[leaf]} is not an image")
    stack = int(trace.meta.stacks.get(names[leaf].removeprefix("obs/"), 1))
    image = _as_bytes(column[step], column)
    return encode(side_by_side(image, _tiles(len(image), stack)), effort=1)


def _check(trace: Trace, step: int) -> None:
    if not 0 <= step < trace.meta.length:
        raise UserError(f"this episode has steps 0 to {trace.meta.length - 1}, not {step}")


def _tiles(channels: int, stack: int) -> int:
    """Images next to each other: one per frame if gray or coloured, else one per channel."""
    each = channels // stack if stack and channels % stack == 0 else channels
    return channels // each if each in (1, _RGB) else channels


def _as_bytes(image: Array, column: Array) -> npt.NDArray[np.uint8]:
    """[C, H, W]; other numbers than bytes are stretched from the least to the greatest."""
    if image.dtype == np.uint8:
        return np.asarray(image)
    low, high = float(column.min()), float(column.max())
    share = (image.astype(np.float64) - low) / ((high - low) or 1.0)
    return np.nan_to_num(share * 255).astype(np.uint8)


def side_by_side(image: npt.NDArray[np.uint8], tiles: int) -> npt.NDArray[np.uint8]:
    """[C, H, W] as one [H, tiles·W, 1 or 3]."""
    each = len(image) // tiles
    parts = [image[at * each : (at + 1) * each] for at in range(tiles)]
    return np.concatenate([np.moveaxis(part, 0, -1) for part in parts], axis=1)


# --- export --------------------------------------------------------------------------------------


def as_csv(trace: Trace, gamma: float | None = None, lam: float | None = None) -> str:
    """The table of an episode, with returns and advantages under this gamma and lambda."""
    text = io.StringIO()
    rows = table(trace, judged(trace, gamma, lam).columns())
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def as_zip(folder: Path) -> bytes:
    """The files of an episode in one archive, as they are."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_STORED) as archive:
        for name in _FILES:
            if (folder / name).is_file():
                archive.write(folder / name, f"{folder.name}/{name}")
    return data.getvalue()
