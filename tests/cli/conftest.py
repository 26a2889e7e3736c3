"""Running one command line in this process."""

from collections.abc import Callable
from dataclasses import dataclass

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
