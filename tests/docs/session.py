"""Executes the blocks of one page in the working folder; a program of its own.

Reads them as JSON from stdin. Python blocks share this program's namespace, as cells of a notebook
do; every other block is a bash script. The first that fails ends it with exit code 1 and its place.
"""

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any


def _execute(step: dict[str, Any]) -> str:
    """What went wrong; empty if nothing."""
    if step["file"]:
        path = Path(step["file"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step["text"], encoding="utf-8")
        return ""
    return _python(step) if step["language"] == "python" else _bash(step)


def _python(step: dict[str, Any]) -> str:
    sys.path[0] = str(Path.cwd())  # as in a notebook or `python script.py`
    page, _, line = step["place"].rpartition(":")
    try:
        exec(compile("\n" * (int(line) - 1) + step["text"], f"<{page}>", "exec"), globals())
    except BaseException:
        return traceback.format_exc()
    return ""


def _bash(step: dict[str, Any]) -> str:
    trap = "trap 'echo \"failed: $BASH_COMMAND\" >&2' ERR\n"
    command = ["bash", "-eu", "-o", "pipefail", "-c", trap + step["text"]]
    sys.stdout.flush()
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    print(done.stdout, flush=True)
    if done.returncode != step["exit"]:
        return f"exit code {done.returncode} instead of {step['exit']}"
    if step["prints"] and _words(step["prints"]) != _words(done.stdout.split("\nfailed: ")[0]):
        return f"printed other words than the page shows: {step['prints']}"
    return ""


def _words(text: str) -> list[str]:
    return [word for word in text.split() if word]


if __name__ == "__main__":
    for _step in json.load(sys.stdin):
        if _wrong := _execute(_step):
            print(f"{_step['place']}: {_wrong}", flush=True)
            os._exit(1)  # a half-done block may have left threads
