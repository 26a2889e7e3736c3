"""A run as one zip file, to keep or to send; and back, from people one does not know.

An archive holds one folder, the run's id, with nothing in it but what a run folder may hold: no
code, no pickles, no links, no paths that lead elsewhere. It is checked as a whole before anything
is unpacked, unpacked under another name, and appears in the folder of runs at once.
"""

import filecmp
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent

from spotter.rundir import identity, trust
from spotter.rundir.files import cannot_write, draft_of, replace
from spotter.rundir.identity import home
from spotter.rundir.run import Run
from spotter.types import UserError

CONTENTS: Final = (
    "run.json", "config.yaml", "metrics.jsonl", "events.jsonl", "run.log", "report.html",
    "report.md", "checkpoints", "videos", "episodes", "blackbox", "reviews",
    "tags",
)  # fmt: skip
_NEEDED: Final = ("run.json", "config.yaml")
_SUFFIXES: Final = {
    ".json", ".jsonl", ".yaml", ".csv", ".safetensors", ".mp4", ".png", ".jpg", ".gif", ".html",
    ".md", ".log", ".txt", ".npz", ".zip",
}  # fmt: skip
_MOST_FILES: Final = 100_000
_LONGEST_PATH: Final = 240
_SAFE_BYTES: Final = 50_000_000
_MOST_RATIO: Final = 200
_RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What opening something else than a whole zip file may raise."""


def export_run(run: Run, path: Path) -> list[str]:
    """Write the archive; returns what was left out because it is no part of a run."""
    if used := run.in_use():
        raise UserError(f"run {run.id} {used}; export it when that has ended")
    if path.exists():
        raise UserError(f"{path} exists already; remove it or choose another name")
    if not path.parent.is_dir():
        raise UserError(f"there is no folder {path.parent}")
    run.info()
    draft = draft_of(path)
    try:
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
            for file in _files(run.folder):
                archive.write(file, f"{run.id}/{file.relative_to(run.folder).as_posix()}")
        replace(draft, path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
    return sorted(
        entry.name
        for entry in run.folder.iterdir()
        if entry.name not in CONTENTS and not _is_scratch(entry)
    )


def _files(folder: Path) -> Iterator[Path]:
    for name in CONTENTS:
        top = folder / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            parts = path.relative_to(folder).parts
            plain = path.is_file() and not path.is_symlink()
            if plain and not any(part.startswith(".") for part in parts):
                yield path


def _is_scratch(entry: Path) -> bool:
    return entry.name.startswith(".") or entry.suffix == ".lock"


def import_run(path: Path) -> tuple[Run, bool]:
    """Unpack an archive into the folder of runs; the run, and whether it is new here."""
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    trust.remember()
    try:
        with zipfile.ZipFile(path) as archive:
            run_id = _check(path, archive)
            return _unpack(path, archive, run_id)
    except _DAMAGED as error:
        raise UserError(f"{path} is no archive of a run: {error}") from error
    except OSError as error:
        raise cannot_write(home(), error) from error


def _check(path: Path, archive: zipfile.ZipFile) -> str:
    """The run's id, if the archive is what `export_run` writes; `UserError` otherwise."""
    entries = archive.infolist()
    files = [entry for entry in entries if not entry.is_dir()]
    if len(entries) > _MOST_FILES:
        raise UserError(f"{path} holds {len(entries)} files, more than a run has")
    for entry in entries:
        problem = _problem(entry)
        if problem:
            raise UserError(f"{path} is refused: {entry.filename!r} {problem}")
    names = [entry.filename.lower() for entry in files]
    if len(set(names)) < len(names):
        raise UserError(f"{path} is refused: it holds two files of the same name")
    tops = {PurePosixPath(entry.filename).parts[0] for entry in entries}
    if len(tops) != 1 or not all(map(_RUN_ID.fullmatch, tops)):
        raise UserError(f"{path} is no archive of a run: it should hold one folder, the run")
    (run_id,) = tops
    for name in _NEEDED:
        if f"{run_id}/{name}" not in {entry.filename for entry in files}:
            raise UserError(f"{path} is no archive of a run: {run_id}/{name} is missing")
    _check_size(path, files)
    return run_id


def _problem(entry: zipfile.ZipInfo) -> str:
    """What is wrong with one entry of an archive; empty if nothing is."""
    name, parts = entry.filename, PurePosixPath(entry.filename).parts
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if name.startswith("/") or "\\" in name or ":" in name or ".." in parts:
        return "leads out of the folder"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a device"
    if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is encrypted or packed in a strange way"
    if not name.isprintable() or len(name) > _LONGEST_PATH:
        return "is no name for a file"
    if not parts or any(part.startswith(".") or part.endswith((".", " ")) for part in parts):
        return "is hidden or has no proper name"
    if len(parts) > 1 and parts[1] not in CONTENTS:
        return "is no part of a run"
    if entry.is_dir() or (len(parts) == 3 and parts[1] == "tags" and not entry.file_size):
        return ""
    if len(parts) == 1:
        return "is no folder of a run"
    if PurePosixPath(name).suffix not in _SUFFIXES:
        return "is no kind of file a run holds"
    return ""


def _check_size(path: Path, files: list[zipfile.ZipInfo]) -> None:
    """Against bombs: small archives that become huge, and more than there is room for."""
    size = sum(entry.file_size for entry in files)
    packed = path.stat().st_size
    if size > _SAFE_BYTES and size > _MOST_RATIO * packed:
        raise UserError(f"{path} is refused: {packed} bytes would become {size}")
    place = home().absolute()
    place = next(folder for folder in (place, *place.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    if size > free:
        raise UserError(f"{path} needs {size} bytes, and {place} has {free} left")


def _unpack(path: Path, archive: zipfile.ZipFile, run_id: str) -> tuple[Run, bool]:
    target = home() / run_id
    home().mkdir(parents=True, exist_ok=True)
    draft = draft_of(home() / f"import-{run_id}")
    try:
        for entry in archive.infolist():
            _unpack_one(path, archive, entry, draft)
        _check_readable(path, draft)
        if target.exists():
            if not _same(draft, target):
                raise UserError(f"there is another run {run_id} in {home()} already")
            return Run(target), False
        replace(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return Run(target), True


def _check_readable(path: Path, draft: Path) -> None:
    """A run that cannot be read does not come in."""
    try:
        identity.read(draft)
        text = (draft / "config.yaml").read_text(encoding="utf-8")
        # We never write aliases; a few lines of them can stand for gigabytes.
        if any(isinstance(event, AliasEvent) for event in YAML(typ="rt").parse(text)):
            raise UserError("config.yaml holds aliases")
        Run(draft).settings()
    except (UserError, YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{path} is refused: {reason}") from error


def _unpack_one(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, draft: Path) -> None:
    target = draft.joinpath(*PurePosixPath(entry.filename).parts[1:])
    if entry.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(entry) as source, target.open("xb") as sink:
        shutil.copyfileobj(source, sink)  # zipfile gives no more than was announced and checked
    if target.suffix == ".safetensors" and not _is_safetensors(target):
        raise UserError(f"{path} is refused: {entry.filename} holds something else")


def _is_safetensors(path: Path) -> bool:
    """A length, then a JSON object of that length; a pickle or a torch file is none."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(9)
    return len(start) == 9 and start[8:] == b"{" and int.from_bytes(start[:8], "little") <= size - 8


def _same(one: Path, other: Path) -> bool:
    """Whether two run folders hold the same files, byte for byte."""
    ours, theirs = (
        {file.relative_to(folder): file for file in _files(folder)} for folder in (one, other)
    )
    return ours.keys() == theirs.keys() and all(
        filecmp.cmp(file, theirs[name], shallow=False) for name, file in ours.items()
    )
