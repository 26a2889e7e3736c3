"""A question answered by a process of its own: an emulator that crashes or hangs ends only that.

No library of an environment is loaded into the process that asks.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from spotter.system import children


class Failed(Exception):  # noqa: N818 - an outcome, not a mistake of ours
    """There is no answer; the sentence says how the process ended."""


def ask(module: str, task: Mapping[str, Any], timeout_s: float) -> Any:
    """What `answer` in that module finds, as plain data; `Failed` if nothing."""
    with tempfile.TemporaryDirectory(prefix="spotter-doctor-") as place:
        answer = Path(place) / "answer.json"
        words = [json.dumps(task), str(answer), json.dumps(children.this_process())]
        command = [sys.executable, "-P", "-m", module, *words]
        paths = [entry or str(Path.cwd()) for entry in sys.path]  # where the caller's code lies
        around = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        try:
            ran = subprocess.run(
                command, env=around, capture_output=True, timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired:
            raise Failed(f"it has not answered for {timeout_s:g} s") from None
        if answer.exists():
            return json.loads(answer.read_text(encoding="utf-8"))
        said = ran.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Failed(f"its process {_ending(ran.returncode)}{f': {said[-1]}' if said else ''}")


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def answer(answer_to: Callable[[Any], object]) -> None:
    """In the child process: answer the request; it ends when the caller does."""
    task, path, parent = sys.argv[1:]
    children.end_with_parent(children.Parent(*json.loads(parent)))
    Path(path).write_text(json.dumps(answer_to(json.loads(task))), encoding="utf-8")
