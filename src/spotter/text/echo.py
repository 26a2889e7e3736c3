"""All that commands print goes through here: nothing a file holds can command the terminal."""

import json
import sys

import typer

from spotter.text.numbers import printable


def echo(text: object = "", err: bool = False, nl: bool = True) -> None:
    typer.echo(printable(str(text)), err=err, nl=nl)


def echo_json(data: object, indent: int | None = 2) -> None:
    """Signs that a terminal would obey are escaped, so that programs read what was there."""
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    if printable(text) != text:
        text = "".join(char if printable(char) == char else json.dumps(char)[1:-1] for char in text)
    typer.echo(text)


def echo_progress(text: str) -> None:
    """One line that is written over, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}{' …' if text else ''}", end="", file=sys.stderr, flush=True)
