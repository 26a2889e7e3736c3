"""What agents may spend, and what they have spent: one book per folder of runs.

Every start is written down before its process exists, in a database all servers share, so that
neither a client that asks twenty times at once nor two servers can exceed what the person allowed.
A living run counts with its whole budget, an ended one with what it used, even where that is more.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from spotter.launch import launch as launching
from spotter.launch.launch import FOLDER
from spotter.rundir import identity, process, registry
from spotter.rundir.files import StorageError
from spotter.types import UserError

_FILE: Final = "ledger.sqlite"
_PATIENCE_S: Final = 30
_STARTING_S: Final = 120
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, key TEXT, wish TEXT, actor TEXT, steps INTEGER, minutes REAL,
    begun_at INTEGER, time TEXT, host TEXT, pid INTEGER, pid_start TEXT,
    run TEXT, used_steps INTEGER, used_minutes REAL,
    problem TEXT DEFAULT '', renewed INTEGER DEFAULT 0, launch TEXT DEFAULT ''
);
CREATE UNIQUE INDEX IF NOT EXISTS by_key ON entries (key) WHERE key != '';
"""


@dataclass(frozen=True)
class Limits:
    """What the person allows all agents of one folder together."""

    most_runs: int = 2
    """At the same time."""
    most_steps: int = 20_000_000
    most_minutes: float = 240.0


@dataclass(frozen=True)
class LaunchRequest:
    """A requested run; `text` holds all of it, so that two can be distinguished."""

    text: str
    actor: str
    steps: int
    minutes: float
    key: str = ""
    run: str | None = None
    """The run that is resumed, where it is not a new one."""
    begun_at: int = 0
    """Its env steps before."""


@dataclass(frozen=True)
class Entry:
    """One line of the book."""

    id: int
    key: str
    wish: str
    actor: str
    steps: int
    minutes: float
    begun_at: int
    time: str
    host: str
    pid: int | None
    pid_start: str
    run: str | None
    used_steps: int | None
    """None while it lives."""
    used_minutes: float | None
    problem: str
    renewed: int
    """1 once the user has reset the allowance: it no longer counts."""
    launch: str = ""
    """What started it, as run.json names it; empty before, and in books of older versions."""

    @property
    def lives(self) -> bool:
        """Whether its process runs, or may be being started just now, also by a server now gone."""
        if self.used_steps is not None:
            return False
        if self.host != process.host():
            return identity.age_s(self.time) < 60 * self.minutes + _STARTING_S
        if self.pid is not None:
            return _is_same(self.pid, self.pid_start)
        if launch := launching.find(identity.home(), self.launch):
            return launch.end() is None
        return identity.age_s(self.time) < _STARTING_S


@dataclass(frozen=True)
class Spent:
    """How much of the limits is taken."""

    runs: int
    steps: int
    minutes: float
    runs_so_far: int = 0
    """Different runs these were spent on, those that live included."""


class Ledger:
    """Of one folder of runs; any number of processes may have one open."""

    def __init__(self, runs: Path) -> None:
        self._path = runs / FOLDER / _FILE

    def reserve(self, request: LaunchRequest, limits: Limits) -> tuple[Entry, bool]:
        """Write a wish down, and whether it is new: one of the same key is only asked for again.

        `UserError` where it does not fit into the limits.
        """
        with self._book() as book:
            known = _known(book, request.key, request.text)
            if known is not None:
                return known, False
            _settle(book)
            _refuse(request, limits, _spent(book))
            row = {
                "key": request.key, "wish": request.text, "actor": request.actor,
                "steps": request.steps,
                "minutes": request.minutes, "begun_at": request.begun_at, "time": identity.now(),
                "host": process.host(), "run": request.run,
            }  # fmt: skip
            names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
            added = book.execute(f"INSERT INTO entries ({names}) VALUES ({marks})", row)
            return _one(book, int(added.lastrowid or 0)), True

    def known(self, key: str, text: str) -> Entry | None:
        """What was asked for under a key before; `UserError` if that was something else."""
        with self._book() as book:
            return _known(book, key, text)

    def started(self, id: int, pid: int | None, launch: str = "") -> None:
        """Its process exists, or a job that will be one on another machine."""
        start = "" if pid is None else process.start_of(pid)
        with self._book() as book:
            book.execute(
                "UPDATE entries SET pid = ?, pid_start = ?, launch = ? WHERE id = ?",
                (pid, start, launch, id),
            )

    def became(self, id: int, run: str) -> bool:
        """Its run exists; whether this is news."""
        with self._book() as book:
            changed = book.execute(
                "UPDATE entries SET run = ? WHERE id = ? AND run IS NULL", (run, id)
            )
            return changed.rowcount == 1

    def failed(self, id: int, problem: str) -> None:
        """It came to nothing: costs nothing, and its key may be used again."""
        with self._book() as book:
            book.execute(
                "UPDATE entries SET problem = ?, key = '', used_steps = 0, used_minutes = 0 "
                "WHERE id = ?",
                (problem, id),
            )

    def entry(self, id: int) -> Entry:
        with self._book() as book:
            return _one(book, id)

    def run_of(self, id: int) -> str | None:
        """The run an entry has become; looked for where no server lived to write it down."""
        with self._book() as book:
            return _run_of(book, _one(book, id))

    def spent(self) -> Spent:
        """Brought up to date."""
        if not self._path.exists():
            return Spent(0, 0, 0.0)
        with self._book() as book:
            _settle(book)
            return _spent(book)

    def renew(self) -> None:
        """The person allows everything once more; what lives still counts."""
        with self._book() as book:
            _settle(book)
            book.execute("UPDATE entries SET renewed = 1 WHERE used_steps IS NOT NULL")

    @contextmanager
    def _book(self) -> Iterator[sqlite3.Connection]:
        """One at a time over all processes; a killed one lets go of it."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=_PATIENCE_S)) as book:
                book.isolation_level = None
                book.execute("BEGIN IMMEDIATE")
                try:
                    for statement in filter(None, map(str.strip, _TABLE.split(";"))):
                        book.execute(statement)
                    _add_younger(book)
                    yield book
                except BaseException:
                    book.execute("ROLLBACK")
                    raise
                book.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise StorageError(f"cannot write {self._path}: {error}") from error


def _add_younger(book: sqlite3.Connection) -> None:
    """Columns that a book of an older version lacks."""
    there = {row[1] for row in book.execute("PRAGMA table_info(entries)")}
    if "launch" not in there:
        book.execute("ALTER TABLE entries ADD COLUMN launch TEXT DEFAULT ''")


def _known(book: sqlite3.Connection, key: str, text: str) -> Entry | None:
    found = _entries(book, "WHERE key = ?", (key,)) if key else []
    if found and found[0].wish != text:
        raise UserError(
            f"request_key {key!r} was used for something else; take a new key for a new request"
        )
    return found[0] if found else None


def _one(book: sqlite3.Connection, id: int) -> Entry:
    return next(entry for entry in _entries(book, "WHERE id = ?", (id,)))


def _entries(book: sqlite3.Connection, where: str, values: tuple[object, ...] = ()) -> list[Entry]:
    names = list(Entry.__dataclass_fields__)
    rows = book.execute(f"SELECT {', '.join(names)} FROM entries {where}", values).fetchall()
    return [Entry(**dict(zip(names, row, strict=True))) for row in rows]


def _settle(book: sqlite3.Connection) -> None:
    """Of what has ended, count what it used instead of what it might have."""
    for entry in _entries(book, "WHERE used_steps IS NULL"):
        entry = _with_run(book, entry)
        if not entry.lives or _has_ended(entry):
            book.execute(
                "UPDATE entries SET used_steps = ?, used_minutes = ? WHERE id = ?",
                (*_used(entry), entry.id),
            )


def _with_run(book: sqlite3.Connection, entry: Entry) -> Entry:
    """The entry with its run, and with the process that no server lived to write down."""
    run, pid, start = _run_of(book, entry), entry.pid, entry.pid_start
    session = _session(entry, _info(run))
    is_here = entry.host == process.host() and not entry.launch
    if pid is None and session is not None and is_here:
        pid = session.pid
        start = process.start_of(pid) if pid is not None else ""
    if (run, pid) == (entry.run, entry.pid):
        return entry
    book.execute(
        "UPDATE entries SET run = ?, pid = ?, pid_start = ? WHERE id = ?",
        (run, pid, start, entry.id),
    )
    return replace(entry, run=run, pid=pid, pid_start=start)


def _run_of(book: sqlite3.Connection, entry: Entry) -> str | None:
    if entry.run:
        return entry.run
    others = _entries(book, "WHERE id != ? AND host = ?", (entry.id, entry.host))
    runs = {other.run for other in others}
    pids = {other.pid for other in others if other.used_steps is None}
    for info in sorted(registry.listing().infos, key=lambda info: str(info["created"])):
        if entry.launch and info["launch"] == entry.launch:
            return str(info["id"])
        if info["host"] != entry.host or info["created"] < entry.time or info["id"] in runs:
            continue
        unclaimed = info["by"] == entry.actor and info["pid"] not in pids
        if info["pid"] == entry.pid or (entry.pid is None and unclaimed):
            return str(info["id"])
    return None


@dataclass(frozen=True)
class _Session:
    """From a start or a resume of a run to the next."""

    pid: int | None
    """None where another session came after it."""
    env_steps: int
    end: str


def _session(entry: Entry, info: identity.Info | None) -> _Session | None:
    """The one an entry stands for; what others did with the run later is not its business."""
    if info is None:
        return None
    starts = [info["created"], *(resume["time"] for resume in info["resumes"])]
    place = next((place for place, start in enumerate(starts) if start >= entry.time), None)
    if place is None:
        return None
    if place < len(info["resumes"]):
        following = info["resumes"][place]
        steps = int(following.get("env_steps", entry.begun_at))
        return _Session(None, steps, following["stopped"])
    return _Session(info["pid"], info["env_steps"], info["ended"] or info["heartbeat"])


def _info(run: str | None) -> identity.Info | None:
    try:
        return identity.read(identity.home() / run) if run else None
    except UserError:
        return None


def _has_ended(entry: Entry) -> bool:
    """Whether its run says so; the process exits shortly after."""
    info = _info(entry.run)
    if info is None or info["status"] == "running":
        return False
    return bool(info["launch"] == entry.launch if entry.launch else info["pid"] == entry.pid)


def _used(entry: Entry) -> tuple[int, float]:
    """All that was reserved where the run is gone and cannot tell."""
    if entry.run is None:
        return 0, 0.0
    info = _info(entry.run)
    if info is None:
        return entry.steps, entry.minutes
    session = _session(entry, info)
    if session is None:
        return 0, 0.0
    return max(0, session.env_steps - entry.begun_at), _minutes(entry.time, session.end)


def _minutes(start: str, end: str) -> float:
    with suppress(ValueError, TypeError):
        span = datetime.fromisoformat(end) - datetime.fromisoformat(start).astimezone(UTC)
        return max(0.0, span.total_seconds() / 60)
    return 0.0


def _spent(book: sqlite3.Connection) -> Spent:
    living = _entries(book, "WHERE used_steps IS NULL")
    ended = _entries(book, "WHERE used_steps IS NOT NULL AND renewed = 0")
    return Spent(
        runs=len(living),
        runs_so_far=len({e.run for e in (*living, *ended) if e.run}),
        steps=sum(e.steps for e in living) + sum(e.used_steps or 0 for e in ended),
        minutes=sum(e.minutes for e in living) + sum(e.used_minutes or 0.0 for e in ended),
    )


def _refuse(request: LaunchRequest, limits: Limits, spent: Spent) -> None:
    if spent.runs >= limits.most_runs:
        going = "1 run of agents is" if spent.runs == 1 else f"{spent.runs} runs of agents are"
        raise UserError(
            f"{going} in progress and --most-runs is {limits.most_runs}; "
            "wait for one to end, or stop one"
        )
    steps = limits.most_steps - spent.steps
    if request.steps > steps:
        raise UserError(
            f"this asks for {request.steps:,} env steps and {max(0, steps):,} of "
            f"{limits.most_steps:,} are left (--most-steps); give fewer `steps`, and fewer per "
            "update (env.count × algo.steps) where one alone takes more"
        )
    minutes = limits.most_minutes - spent.minutes
    if request.minutes > minutes + 1e-9:
        raise UserError(
            f"this asks for {request.minutes:g} minutes and {max(0.0, minutes):.1f} of "
            f"{limits.most_minutes:g} are left (--most-minutes); give fewer `minutes`"
        )


def _is_same(pid: int, start: str) -> bool:
    """Alive, and no later process of the same number."""
    if not process.is_alive(pid):
        return False
    now = process.start_of(pid)
    return not (start and now and start != now)
