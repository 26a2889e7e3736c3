"""What a file holds is shown, and cannot command the terminal."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console as Terminal

import spotter.cli
from spotter.sinks.console import Output
from spotter.text.echo import echo, echo_json
from spotter.text.numbers import printable

HOSTILE = "a\x1b[2Jb\x1b]0;title\x07c\x9b31md\u202ee\rf\x08g"


def test_signs_a_terminal_would_obey_are_taken_out():
    assert printable(HOSTILE) == "a [2Jb ]0;title c 31md e f g"
    assert printable("two\nlines\tand ü ≥ 漢") == "two\nlines\tand ü ≥ 漢"


def test_lines_and_errors(capsys):
    echo(HOSTILE)
    echo(HOSTILE, err=True)
    shown = capsys.readouterr()
    assert shown.out == shown.err == printable(HOSTILE) + "\n"


def test_json_keeps_what_was_there(capsys):
    echo_json({"text": HOSTILE, "plain": "ü\n"})
    text = capsys.readouterr().out
    assert json.loads(text) == {"text": HOSTILE, "plain": "ü\n"}
    assert printable(text) == text and "ü" in text


@pytest.mark.parametrize("force", [True, False])
def test_tables_and_logs(force):
    file = io.StringIO()
    output = Output(file=file, force_terminal=force, color_system=None, highlight=False)
    output.print(HOSTILE, markup=False)
    assert printable(file.getvalue()) == file.getvalue()
    assert "[2Jb" in file.getvalue()


def test_a_red_word_stays_red():
    ours, richs = io.StringIO(), io.StringIO()
    for kind, file in ((Output, ours), (Terminal, richs)):
        kind(file=file, force_terminal=True, color_system="standard").print("[red]word[/red]")
    assert ours.getvalue() == richs.getvalue() and "\x1b[31m" in ours.getvalue()


def test_no_command_prints_by_another_way():
    allowed = {"echo.py": 3, "main.py": 1, "train.py": 1}
    for path in Path(spotter.__file__).parent.glob("*/*.py"):
        if path.parent.name not in ("cli", "sweeps", "text"):
            continue
        found = re.findall(r"\btyper\.s?echo\(|(?<![\w.])print\(", path.read_text("utf-8"))
        assert len(found) == allowed.get(path.name, 0), path
