"""Do two checkouts train every recipe to the same weights, bit for bit?

    python benchmarks/golden.py --against /path/to/another/checkout [--updates 20] [recipe …]

Each recipe is trained for some updates by this checkout and by the other, in processes of their
own with one thread, and the networks of both last checkpoints are compared byte by byte. A change
that only rearranges code leaves every line "same". Where a recipe's own settings were changed in
between, this checkout trains once more with those of the other, and the line names them. The other
checkout needs its kernels: `python setup.py build_ext --inplace`. With `--write` each line is also
added to a file of JSON lines; recipes that stand there are not trained again.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from spotter.config import resolve
from spotter.config.catalogue import entries
from spotter.config.diff import difference
from spotter.config.dump import flow

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


_CONFIG: Final = """
import json, sys
from spotter.config import resolve
print(json.dumps(resolve(sys.argv[1], sys.argv[2:]).config.as_data()))
"""
_LEARNING: Final = ("env", "reward", "policy", "algo")


@dataclass(frozen=True)
class Line:
    """What became of one recipe."""

    recipe: str
    own: str
    other: str
    verdict: str
    updates: int
    settings: Sequence[str] = ()
    """Those of the other checkout, given to this one, where the recipe changed in between."""
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"| {self.recipe} | {self.own} | {self.other} | {self.verdict} |"


@dataclass(frozen=True)
class Golden:
    """Two checkouts and how long each may train."""

    own: Path
    other: Path
    updates: int
    timeout_s: float

    def compare(self, address: str) -> Line:
        began = time.monotonic()
        words = settings(address, self.updates)
        own, other = (self.weights(place, address, words) for place in (self.own, self.other))
        verdict, changed = _verdict(own, other), list[str]()
        if verdict == "DIFFERENT":
            changed = self.changed(address, words)
        if changed:
            own = self.weights(self.own, address, [*words, *changed])
            verdict = _verdict(own, other)
            verdict += f" with {' '.join(changed)}" * (verdict == "same")
        return Line(
            address, own, other, verdict, self.updates, changed, round(time.monotonic() - began, 1)
        )

    def changed(self, address: str, words: Sequence[str]) -> list[str]:
        """Settings that the other checkout's recipe has otherwise, as overrides with its values."""
        own, other = (self.config(place, address, words) for place in (self.own, self.other))
        return [
            f"{name}={flow(before)}"
            for section in _LEARNING
            for name, (before, _) in difference(
                other.get(section), own.get(section), section
            ).items()
            if _knows(other, name) and _knows(own, name)
        ]

    def config(self, checkout: Path, address: str, words: Sequence[str]) -> dict[str, object]:
        command = [sys.executable, "-c", _CONFIG, address, *words]
        done = subprocess.run(
            command, env=_around(checkout), capture_output=True, text=True, check=False
        )
        found = json.loads(done.stdout) if done.returncode == 0 else {}
        assert isinstance(found, dict)
        return found

    def weights(self, checkout: Path, address: str, words: Sequence[str]) -> str:
        """A digest of the last checkpoint's networks; what went wrong where there is none."""
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "spotter", "train", address, *words, "--quiet"]
            try:
                done = subprocess.run(
                    command, cwd=folder, env=_around(checkout), capture_output=True, text=True,
                    check=False, timeout=self.timeout_s,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return f"no run: more than {self.timeout_s:g} s"
            latest = next(Path(folder).glob("runs/*/checkpoints/latest.json"), None)
            if done.returncode or latest is None:
                return f"no run: {done.stderr.strip()[-200:]}"
            name = json.loads(latest.read_text(encoding="utf-8"))["step"]
            file = latest.parent / name / "policy.safetensors"
            return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def _verdict(own: str, other: str) -> str:
    if own.startswith("no run") or other.startswith("no run"):
        return "not compared"
    return "same" if own == other else "DIFFERENT"


def _around(checkout: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}


def _knows(config: object, name: str) -> bool:
    for key in name.split("."):
        if not isinstance(config, Mapping) or key not in config:
            return False
        config = config[key]
    return True


def _written(path: Path | None) -> set[str]:
    if path is None or not path.exists():
        return set()
    return {json.loads(line)["recipe"] for line in path.read_text(encoding="utf-8").splitlines()}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recipes", nargs="*", help="default: all")
    parser.add_argument("--against", type=Path, required=True, help="a checkout with kernels")
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--timeout-s", type=float, default=900.0, help="of one training")
    parser.add_argument("--write", type=Path, help="a file of JSON lines")
    options = parser.parse_args()
    golden = Golden(HERE, options.against.resolve(), options.updates, options.timeout_s)
    done = _written(options.write)
    differing = 0
    print("| recipe | this checkout | the other | |\n|---|---|---|---|", flush=True)
    for address in options.recipes or [entry.address for entry in entries()]:
        if address in done:
            continue
        line = golden.compare(address)
        print(line, flush=True)
        if options.write:
            with options.write.open("a", encoding="utf-8") as file:
                print(json.dumps(asdict(line), ensure_ascii=False), file=file)
        differing += not line.verdict.startswith("same")
    return min(differing, 1)


if __name__ == "__main__":
    sys.exit(main())
