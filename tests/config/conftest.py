"""A working folder with recipes of its own."""

from pathlib import Path
from textwrap import dedent

import pytest


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
