"""Running one command line in this process."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from spotter.cli.main import run


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def spotter(capsys) -> Callable[..., Ran]:
    """`spotter("list", "cart")` -> exit code, stdout, stderr."""

    def call(*args: str) -> Ran:
        try:
            code = run(args)
        except SystemExit as ended:
            code = ended.code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder; `folder(name, text)` writes a file into it."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, text: str) -> Path:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return write
