"""The whole command as a user types it: from `spotter train` to a tested policy on disk."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from meter import STARTED, arguments


def main() -> None:
    work, seed = arguments()
    began = float(os.environ.get(STARTED, time.time()))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(sys.executable).with_name("spotter")
        command = [str(program), "train", f"{work.env}:{work.algo}", f"seed={seed}", "--quiet"]
        variables = {**os.environ, "SPOTTER_RUNS": folder}
        done = subprocess.run(command, env=variables, check=False, stdout=subprocess.DEVNULL)
        if done.returncode:
            sys.exit(done.returncode)  # it has said why on stderr
        seconds = time.time() - began
        (record,) = Path(folder).glob("*/run.json")
        solved = json.loads(record.read_text(encoding="utf-8"))["reason"] == "solved"
    result = {
        "work": work.name,
        "steps_per_s": None,
        "to_score_s": seconds if solved else None,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
