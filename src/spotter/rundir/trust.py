"""Which runs were trained here, and what a run from elsewhere may not make Spotter import.

run.json holds the `names` its settings use beyond Spotter's own, and a `seal` over them and the
run's id, made with a key that only this user has. A run without a right seal is foreign: it was
imported or copied in. What a foreign run names is imported or opened only inside `trusting`.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from spotter.config.foreign import is_plain, outside
from spotter.rundir import process
from spotter.rundir.files import draft_of, open_plain
from spotter.types import UserError

STATE_VARIABLE: Final = "SPOTTER_STATE"
"""Names the folder of what Spotter remembers for a user."""
_KEY: Final = re.compile(rb"[0-9a-f]{64}")
_MOST_NAMES: Final = 5
_LONGEST_NAME: Final = 80
_trusting: ContextVar[bool] = ContextVar("trusting", default=False)


class UntrustedError(UserError):
    """A foreign run names code or files: one sentence that says which."""


@contextmanager
def trusting(trust: bool = True) -> Iterator[None]:
    """Inside, foreign runs are treated like those that were trained here."""
    token = _trusting.set(trust or _trusting.get())
    try:
        yield
    finally:
        _trusting.reset(token)


def state_folder() -> Path:
    """Where Spotter keeps what belongs to a user and to no run."""
    if named := os.environ.get(STATE_VARIABLE):
        return Path(named)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "spotter"


# --- marking -------------------------------------------------------------------------------------


def marks(run_id: str, settings: Mapping[str, object]) -> dict[str, object]:
    """The entries of run.json that say that a run was trained here, with these settings."""
    names = outside(settings)
    key = _key(make=True)
    return {"names": names, "seal": _seal(key, run_id, names) if key else ""}


def remember() -> None:
    """Make the key if there is none: what comes here later did not lie here before."""
    _key(make=True)


def is_foreign(folder: Path, info: Mapping[str, Any]) -> bool:
    """Whether a run was not trained here. `info` is run.json with all its entries."""
    key, seal = _key(make=False), info["seal"]
    if seal is None:
        return not _was_here_before(folder, info, key)
    if key is None or info["names"] is None:
        return True
    wanted = _seal(key, folder.resolve().name, info["names"])
    return not hmac.compare_digest(wanted.encode(), seal.encode(errors="replace"))


def _was_here_before(folder: Path, info: Mapping[str, object], key: "_Key | None") -> bool:
    """Older versions sealed nothing: their runs count as trained here if they name this machine and
    lay on it before the key was made, which the sender of a run cannot choose."""
    if info["host"] != process.host():
        return False
    try:
        came = (folder / "run.json").stat().st_ctime
    except OSError:
        return False
    return key is None or came < key.made


def _seal(key: "_Key", run_id: str, names: Mapping[str, object]) -> str:
    text = json.dumps([run_id, names], sort_keys=True)
    return hmac.new(key.secret, text.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class _Key:
    secret: bytes
    made: float
    """Seconds since 1970."""


def _key(make: bool) -> _Key | None:
    """This user's key; None where there is none, and none can be made."""
    path = state_folder() / "key"
    if make:
        _make(path)
    try:
        with open_plain(path) as file:
            secret, made = file.read(65).strip(), os.fstat(file.fileno()).st_mtime
    except OSError:
        return None
    return _Key(secret, made) if _KEY.fullmatch(secret) else None


def _make(path: Path) -> None:
    """Once, by the first process; a home folder that cannot be written to is left as it is."""
    if path.exists():
        return
    draft = draft_of(path)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_hex(32).encode())
        try:
            path.hardlink_to(draft)  # unlike a rename, this never replaces another's key
        except FileExistsError:
            pass
        except (OSError, NotImplementedError):
            if not path.exists():
                draft.replace(path)
    with suppress(OSError):
        draft.unlink(missing_ok=True)


# --- checking ------------------------------------------------------------------------------------


def check(info: Mapping[str, Any], settings: Mapping[str, object], played: bool = True) -> None:
    """Refuse settings that name code or files, unless the run was trained here with the same.

    `info` is what `identity.read` returned; `played`: or else just read as a config.
    """
    names = outside(settings, files=played)
    if not names or _trusting.get():
        return
    known = info["names"]
    if not info["foreign"] and (known is None or names.items() <= known.items()):
        return
    what = "was not trained here and names" if info["foreign"] else "was not trained here with"
    raise UntrustedError(
        f"run {info['id']} {what} {_shown(names)}, which could run code that is not part of Spotter"
    )


def origin(info: Mapping[str, object], settings: Mapping[str, object]) -> str:
    """What to say about where a run comes from; empty for one that was trained here."""
    if not info["foreign"]:
        return ""
    names = outside(settings)
    return f"not trained here; names {_shown(names)}" if names else "not trained here"


def may_resolve(address: str, info: Mapping[str, object]) -> bool:
    """Whether to follow an address that a run names."""
    return _trusting.get() or not info["foreign"] or is_plain(address)


def _shown(names: Mapping[str, str]) -> str:
    texts = [f"{where}={name[:_LONGEST_NAME]}" for where, name in names.items()]
    rest = len(texts) - _MOST_NAMES
    return ", ".join(texts[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
