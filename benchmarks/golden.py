"""Do two checkouts train every recipe to the same weights, bit for bit?

    python benchmarks/golden.py --against /path/to/another/checkout [--updates 20] [recipe …]

Each recipe is trained for some updates by this checkout and by the other, in processes of their
own with one thread, and the networks of both last checkpoints are compared byte by byte. A change
that only rearranges code leaves every line "same". The other checkout needs its kernels:
`python setup.py build_ext --inplace`.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from spotter.config import resolve
from spotter.config.catalogue import entries

HERE: Final = Path(__file__).resolve().parents[1]
SETTINGS: Final = (
    "seed=7",
    "threads=1",
    "eval.every_steps=null",
    "eval.episodes=1",
    "video.when=null",
    "checkpoint.every_s=null",
)


def settings(address: str, updates: int) -> list[str]:
    """Nothing is evaluated on the way, and the budget is so many updates."""
    config = resolve(address).config
    steps = config.algo.model_dump().get("steps", 200)  # REINFORCE collects whole episodes
    return [*SETTINGS, f"budget.env_steps={updates * config.env.count * steps}"]


def weights(checkout: Path, address: str, words: list[str]) -> str:
    """A digest of the last checkpoint's networks; what went wrong where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "spotter", "train", address, *words, "--quiet"]
        around = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            command, cwd=folder, env=around, capture_output=True, text=True, check=False
        )
        latest = next(Path(folder).glob("runs/*/checkpoints/latest.json"), None)
        if latest is None:
            return f"no run: {done.stderr.strip()[-200:]}"
        name = json.loads(latest.read_text(encoding="utf-8"))["step"]
        file = latest.parent / name / "policy.safetensors"
        return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recipes", nargs="*", help="default: all")
    parser.add_argument("--against", type=Path, required=True, help="a checkout with kernels")
    parser.add_argument("--updates", type=int, default=20)
    options = parser.parse_args()
    differing = 0
    print("| recipe | this checkout | the other | |\n|---|---|---|---|", flush=True)
    for address in options.recipes or [entry.address for entry in entries()]:
        words = settings(address, options.updates)
        own, other = (weights(place, address, words) for place in (HERE, options.against.resolve()))
        is_same = own == other and not own.startswith("no run")
        differing += not is_same
        verdict = "same" if is_same else "DIFFERENT"
        print(f"| {address} | {own} | {other} | {verdict} |", flush=True)
    return min(differing, 1)


if __name__ == "__main__":
    sys.exit(main())
