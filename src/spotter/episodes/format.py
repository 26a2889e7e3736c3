"""The trace of one episode: observations, decisions and rewards of every step, as files.

`runs/<id>/episodes/<name>/` holds `trace.json`, `arrays.npz` and, where the environment renders,
`frames.zip`; see docs/trace-format.md. No torch here: pages and command lines read traces without.
"""

import re
import shutil
import struct
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spotter.episodes.older import brought_up, hidden
from spotter.episodes.signature import signature
from spotter.rundir.files import UNREADABLE, cannot_write, draft_of, read_json, replace, write_json
from spotter.rundir.run import Run
from spotter.types import UserError

VERSION: Final = 2
MODES: Final = ("greedy", "sampled", "human", "untrained")
ENDS: Final = ("terminated", "truncated", "cut", "stopped")
BASELINES: Final = ("value", "mean", "none")
CREDITS: Final = ("to_go", "episode")
FOLDER: Final = "episodes"
TAKEN_OVER: Final = "taken over from "
"""How the note begins of an episode that another player began."""
OWN_MODES: Final = ("greedy", "sampled")  # in which what the run has learnt decides
NAME: Final = re.compile(r"\d{9,}-seed\d+-(greedy|sampled|human|untrained)(-\d+)?")
"""What the folder of a trace may be called; anything else is not looked at."""
_LOCAL_HEADER: Final = 30  # bytes before the name of a file in a zip
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)  # the same images give the same bytes

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Meta:
    """Where a trace comes from and how it ended."""

    run: str
    checkpoint: str
    """`step-000050176`; empty where no checkpoint played."""
    env_id: str
    mode: str
    """greedy, sampled, human or untrained."""
    seed: int
    """What the environment was reset with."""
    gamma: float
    lam: float
    action_names: tuple[str, ...]
    """Of the choices; of the buttons or axes where an action has several parts."""
    parts: tuple[str, ...]
    """Names of the reward parts: columns of `part`."""
    info: tuple[str, ...]
    """Names of the numbers the environment reported: columns of `info`."""
    score: float
    length: int
    end: str
    """terminated, truncated (by the environment), cut (too long) or stopped (by the user)."""
    final_value: float
    """What the critic expected after the last step; 0 where the episode terminated."""
    fps: int
    fingerprint: str
    settings: Mapping[str, Any]
    """The config the episode was played with."""
    versions: Mapping[str, str]
    action_kind: str = "discrete"
    """discrete, multi_discrete, binary or box."""
    nvec: tuple[int, ...] = ()
    """Choices of each part of a discrete or multi_discrete action."""
    stacks: Mapping[str, int] = field(default_factory=dict)
    """Leaves of the observation that are stacks of so many frames, the newest last."""
    changes: tuple[str, ...] = ()
    """Settings that were changed for this episode, as `env.sticky=0.25`."""
    warnings: tuple[str, ...] = ()
    """What could not be had, in one sentence each: no images, no names."""
    baseline: str = "value"
    """What the algorithm measures advantages against: value (a critic), mean (return) or none."""
    baseline_mean: float | None = None
    """The mean return of the update that made these weights, where `baseline` is mean."""
    credit: str = "to_go"
    """to_go: a step is credited with what followed it; episode: with the whole episode."""
    action_low: tuple[float, ...] = ()
    action_high: tuple[float, ...] = ()
    """Bounds of a continuous action in the environment's units; empty where they are not known."""

    @property
    def step(self) -> int:
        """Env steps of the checkpoint that played; 0 without one."""
        return int(self.checkpoint.removeprefix("step-") or 0)

    @property
    def is_own(self) -> bool:
        """Whether what the run has learnt played the run's own game."""
        return self.mode in OWN_MODES and not self.changes


class Frames(Sequence[bytes]):
    """JPEG images: `frames[t]` is what stood on the screen when step t was decided."""

    def __init__(self, pictures: Sequence[bytes] = (), final: bytes = b"") -> None:
        self._pictures = pictures
        self._final = final

    def __len__(self) -> int:
        return len(self._pictures)

    def __getitem__(self, step: Any) -> Any:
        return self._pictures[step]

    @property
    def final(self) -> bytes:
        """After the last step; empty where it was not observed."""
        return self._final


class _Zipped(Frames):
    """Images in a zip, read one at a time; the file is open only while it is read."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        with zipfile.ZipFile(path) as archive:
            places = {i.filename: (i.header_offset, i.file_size) for i in archive.infolist()}
        self._last = places.pop("final.jpg", None)
        self._places = [places[name] for name in sorted(places)]

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, step: Any) -> Any:
        if isinstance(step, slice):
            return [self._read(place) for place in self._places[step]]
        return self._read(self._places[step])

    @property
    def final(self) -> bytes:
        return self._read(self._last) if self._last else b""

    def _read(self, place: tuple[int, int]) -> bytes:
        offset, size = place
        with _reading(self._path), self._path.open("rb") as file:
            file.seek(offset)
            header = file.read(_LOCAL_HEADER)
            name, extra = struct.unpack("<HH", header[26:])
            file.seek(name + extra, 1)
            return file.read(size)


class _Columns(Mapping[str, Array]):
    """Arrays of an npz, each read when it is asked for: observations are large."""

    def __init__(self, path: Path, length: int, hidden: Collection[str] = ()) -> None:
        self._path, self._length = path, length
        self._read: dict[str, Array] = {}
        with _reading(path), zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            self._names = [name for name in names if name not in hidden]
            if not {"action", "reward"} <= set(self._names):
                raise ValueError("it has no actions or no rewards")

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._read:
            with _reading(self._path), np.load(self._path, allow_pickle=False) as arrays:
                found = arrays[name]
                if found.ndim < 1 or len(found) != self._length:
                    raise ValueError(f"{name} has not the length of the episode")
                self._read[name] = found
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True)
class Trace:
    """One episode; every column has a row per step."""

    meta: Meta
    columns: Mapping[str, Array]
    frames: Frames = field(default_factory=Frames)

    def check_step(self, step: int) -> None:
        if not 0 <= step < self.meta.length:
            last = self.meta.length - 1
            raise UserError(f"step {step} is not in this episode; it has 0 to {last}")

    @property
    def observations(self) -> dict[str, Array]:
        """What the network saw, by leaf, [T, …]."""
        return {
            name.removeprefix("obs/"): self.columns[name]
            for name in self.columns
            if name.startswith("obs/")
        }


# --- files ---------------------------------------------------------------------------------------


def place(run: Run, meta: Meta) -> Path:
    """Where a trace belongs in a run; `save` adds a number if there is one already."""
    return run.folder / FOLDER / f"{meta.step:09d}-seed{meta.seed}-{meta.mode}"


def run_of(folder: Path) -> Run:
    """The run that holds a trace."""
    return Run(folder.resolve().parents[1])


def save(trace: Trace, folder: Path) -> Path:
    """Write a trace, whole or not at all; returns where: `folder`, or with `-2`, `-3`, … added.

    One that is there already is not written again. What people play always is: it counts.
    """
    check(trace)
    if trace.meta.mode != "human" and (there := _stored(trace, folder)):
        return there
    draft = draft_of(folder)
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True)
        write_json(draft / "trace.json", {"version": VERSION, **asdict(trace.meta)})
        with (draft / "arrays.npz").open("wb") as file:
            arrays: dict[str, Any] = {name: trace.columns[name] for name in trace.columns}
            np.savez_compressed(file, **arrays)
        if len(trace.frames):
            _write_frames(draft / "frames.zip", trace.frames)
        return _settle(draft, folder)
    except OSError as error:
        raise cannot_write(folder, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _stored(trace: Trace, folder: Path) -> Path | None:
    """Where the same episode, as rich in images, lies among `folder`, `folder-2`, …"""
    name, own = re.compile(rf"{re.escape(folder.name)}(-\d+)?"), None
    for there in sorted(folder.parent.glob(f"{folder.name}*")):
        if not name.fullmatch(there.name):
            continue
        try:
            other = load(there)
            own = own or signature(trace)
            if len(other.frames) == len(trace.frames) and signature(other) == own:
                return there
        except UserError:
            continue  # damaged, or deleted meanwhile
    return None


def _settle(draft: Path, folder: Path) -> Path:
    """Give a finished folder the first free name."""
    number = 1
    while True:
        there = folder if number == 1 else folder.with_name(f"{folder.name}-{number}")
        number += 1
        if there.exists():
            continue
        try:
            replace(draft, there)
        except OSError:
            if there.exists():  # another process was faster
                continue
            raise
        return there


def _write_frames(path: Path, frames: Frames) -> None:
    pictures = {f"{t:06d}.jpg": frames[t] for t in range(len(frames))}
    if frames.final:
        pictures["final.jpg"] = frames.final
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, picture in pictures.items():
            archive.writestr(zipfile.ZipInfo(name, _EARLIEST), picture)


def load(folder: Path) -> Trace:
    """A trace that was saved; arrays and images are read when asked for."""
    with _reading(folder):
        meta = load_meta(folder)
        frames = folder / "frames.zip"
        return Trace(
            meta,
            _Columns(folder / "arrays.npz", meta.length, hidden(meta)),
            _Zipped(frames) if frames.exists() else Frames(),
        )


def load_meta(folder: Path) -> Meta:
    """What a trace says about itself, without its arrays and images."""
    with _reading(folder):
        data = read_json(folder / "trace.json")
        if data["version"] > VERSION:
            raise ValueError(f"version {data['version']} is newer than {VERSION}; update Spotter")
        if data["version"] < VERSION:
            data = brought_up(data)
        known = {f.name for f in fields(Meta)}
        meta = Meta(**{key: _frozen(value) for key, value in data.items() if key in known})
        _check_meta(meta)
        return meta


def _check_meta(meta: Meta) -> None:
    """Against files that were damaged, or made up: pages count on these."""
    numbers = (meta.score, meta.gamma, meta.lam, meta.final_value)
    is_long = isinstance(meta.length, int) and meta.length > 0
    if not is_long or not all(isinstance(number, int | float) for number in numbers):
        raise ValueError("its length, score, gamma, lam or final_value is no number")
    if meta.mode not in MODES or meta.end not in ENDS:
        raise ValueError(f"its mode is {meta.mode!r}, its end {meta.end!r}")
    if meta.baseline not in BASELINES or meta.credit not in CREDITS:
        raise ValueError(f"its baseline is {meta.baseline!r}, its credit {meta.credit!r}")
    bounds = (*meta.action_low, *meta.action_high, meta.baseline_mean or 0)
    if not all(isinstance(bound, int | float) for bound in bounds):
        raise ValueError("its action_low, action_high or baseline_mean is no number")


def _frozen(value: object) -> Any:
    return tuple(value) if isinstance(value, list) else value


def listing(run: Run) -> list[Path]:
    """Folders of a run's traces, newest first."""
    found: list[tuple[float, Path]] = []
    try:
        folders = list((run.folder / FOLDER).iterdir())
    except OSError:
        return []
    for folder in folders:
        if NAME.fullmatch(folder.name):
            try:
                found.append(((folder / "trace.json").stat().st_mtime, folder))
            except OSError:
                continue  # deleted meanwhile, or no trace
    return [folder for _, folder in sorted(found, reverse=True)]


def find(run: Run, name: str) -> Path:
    """The folder of one trace of a run; a name that is none reaches no file."""
    folder = run.folder / FOLDER / name
    if not NAME.fullmatch(name) or not (folder / "trace.json").is_file():
        raise UserError(f"run {run.id} has no episode '{name}'")
    return folder


def check(trace: Trace) -> None:
    """A trace that contradicts itself is a mistake of the code that made it."""
    meta = trace.meta
    assert meta.mode in MODES and meta.end in ENDS, f"unknown mode or end: {meta.mode}, {meta.end}"
    assert meta.length > 0, "a trace has at least one step"
    for name, column in trace.columns.items():
        assert len(column) == meta.length, f"{name} has {len(column)} rows, not {meta.length}"
    assert len(trace.frames) in (0, meta.length), "an image for each step, or none"


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Whatever a damaged or deleted trace makes go wrong is one sentence about it."""
    try:
        yield
    except UserError:
        raise
    except UNREADABLE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{path} cannot be read: {type(error).__name__}: {reason}") from error
