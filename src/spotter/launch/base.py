"""What a launcher is: it starts a command somewhere, says whether it has ended, and stops it.

A job is known by one word, which lasts as long as the job: another process may ask about it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Task:
    """One command. All paths are absolute, and the folders exist."""

    name: str
    """For lists of jobs; letters, digits and dashes."""
    command: tuple[str, ...]
    folder: Path
    """In which it runs."""
    variables: Mapping[str, str]
    """Of the environment, beside those there are."""
    log: Path
    """Gets all that it prints."""


@dataclass(frozen=True)
class End:
    """How a job ended."""

    code: int | None = None
    """The exit code of the command, where that is known."""
    reason: str = ""
    """What ended it, in a clause, where it did not end by itself."""


class Launcher(Protocol):
    """`UserError` where something cannot be done, in one sentence."""

    def start(self, task: Task) -> str:
        """Start or queue it; the word it is known by from now on."""
        ...

    def end(self, job: str, log: Path) -> End | None:
        """None while it waits or runs. Asked several times a second."""
        ...

    def stop(self, job: str) -> None:
        """Do to it what Ctrl-C does: the run is saved. One that still waits never starts."""
        ...
