"""What a page about a run never says: where files lie, on which machine, under which account.

Texts that people and programs wrote into a run may hold all of these. Names of accounts and
machines are taken out of such texts only, since one may be called like a metric.
"""

import getpass
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Final

from spotter.rundir import process

_END: Final = r"[^\s'\"`<>|,;()\[\]{}]"
_PART: Final = r"[^\s'\"`<>|,;()\[\]{}/]"
_PATH: Final = re.compile(
    r"(?<![\w.\-/\\])(?!(?<=:)//)(?:"  # not within a word such as and/or, nor https://
    rf"(?:file:|~[\w-]*|\.{{1,2}})/{_END}+"  # ~/x, ../x
    rf"|/+{_PART}+/+{_PART}{_END}*"  # /home/ann; not /b alone, for that ends bold type in HTML
    rf"|(?:[A-Za-z]:|\\)[\\/]{_END}+"  # C:\Users\ann, \\server\share
    rf"|(?:\.{{1,2}}|~)\\{_END}+"
    r")"
)
_GENERIC_NAMES: Final = frozenset(
    ("", "root", "user", "users", "home", "admin", "unknown", "localhost", "spotter")
)
"""Names that tell nothing about anybody."""
_MOST: Final = 300


@dataclass(frozen=True)
class Discreet:
    """Takes out paths, and the names of accounts and machines."""

    names: tuple[str, ...]

    @classmethod
    def about(cls, info: Mapping[str, Any]) -> "Discreet":
        """For what was written by, and on, the machines a run was trained on, and here."""
        reported = [info, *info.get("resumes", ())]
        names = {str(each.get(key) or "") for each in reported for key in ("by", "host")}
        names |= {_account(), Path.home().name, process.host()}
        names |= {name.split(".")[0] for name in names}
        known = {name for name in names if name.lower() not in _GENERIC_NAMES and len(name) > 1}
        return cls(tuple(sorted(known, key=lambda name: (-len(name), name))))

    def hide(self, text: str) -> str:
        """Free text, otherwise unchanged."""
        text = without_paths(text)
        for name in self.names:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "(name)", text, flags=re.IGNORECASE)
        return text

    def said(self, text: object, most: int = _MOST) -> str:
        """The same on one line, without markup, not too long."""
        line = "".join(char if char.isprintable() else " " for char in str(text))
        line = self.hide(" ".join(line.split())).replace("`", "'").replace("#", "")
        return line if len(line) <= most else line[: most - 1] + "…"


def without_paths(text: str) -> str:
    """A path is only the name of its file; its folder is private."""
    return _PATH.sub(_last_part, text)


def _last_part(match: re.Match[str]) -> str:
    path = match.group().rstrip("/\\")
    pure = PureWindowsPath(path) if "\\" in path else PurePosixPath(path)
    return pure.name or "(path)"


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
