"""What a memory costs: the same PPO without a core, with `gru` and with `lstm`, in turn.

    python benchmarks/cores.py                      both compute backends, the table for memory.md
    python benchmarks/cores.py --rounds 5 --no-write

CartPole without velocities, 8 envs × 128 steps, minibatches of 256, 4 epochs, one thread. Prints
env steps per CPU second, medians over rounds in alternating order; a busy machine hardly changes
them. Raw numbers go to results/cores.json, the table into docs/howto/memory.md.
"""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

from spotter.config import validate
from spotter.engines import kernels
from spotter.training.training import Training

HERE: Final = Path(__file__).resolve().parent
PAGE: Final = HERE.parent / "docs" / "howto" / "memory.md"
START, END = "<!-- cost:start -->", "<!-- cost:end -->"
CORES: Final[dict[str, dict[str, Any] | None]] = {
    "no core": None,
    **{f"{name} {size}": {"name": name, "size": size} for name in ("gru", "lstm")
       for size in (64, 256)},
}  # fmt: skip
ENGINES: Final = ("numpy", "torch")
_WARM_UP: Final = 2  # updates
_CPU_S: Final = 1.0  # at least, per turn
Speeds = Mapping[tuple[str, str], Sequence[float]]


def speed(engine: str, core: str) -> float:
    """Env steps per CPU second of a training, collecting and learning."""
    config = validate(
        {
            "env": {"id": "CartPole-v1", "family": "classic", "count": 8,
                    "wrappers": [{"name": "hide", "indices": [1, 3]}]},
            "algo": {"name": "ppo", "steps": 128, "minibatch": 256, "epochs": 4},
            "policy": {"core": CORES[core], "engine": engine},
            "budget": {"env_steps": 10_000_000},
            "threads": 1,
            "device": "cpu",
        }
    )  # fmt: skip
    with Training(config) as training:
        for _ in range(_WARM_UP):
            training.step()
        before, began = training.env_steps, time.process_time()
        while time.process_time() - began < _CPU_S:
            training.step()
        return (training.env_steps - before) / (time.process_time() - began)


def measure(rounds: int) -> Speeds:
    turns = [(engine, core) for core in CORES for engine in ENGINES]
    found: dict[tuple[str, str], list[float]] = {turn: [] for turn in turns}
    for index in range(rounds):
        for turn in turns if index % 2 == 0 else reversed(turns):
            found[turn].append(speed(*turn))
            print(f"round {index + 1}, {' '.join(turn)}: {found[turn][-1]:,.0f}", flush=True)
    return found


def table(found: Speeds) -> str:
    rows = [
        " | ".join(["", f"`policy.engine: {engine}`", *(
            f"{statistics.median(found[engine, core]):,.0f}" for core in CORES
        )]).strip()
        + " |"
        for engine in ENGINES
    ]  # fmt: skip
    head = f"| | {' | '.join(CORES)} |\n|---|{'---|' * len(CORES)}"
    return "\n".join([head, *rows])


def write(found: Speeds, rounds: int, load: tuple[float, float, float]) -> None:
    how = "with" if kernels.COMPILED else "without"
    facts = {"date": str(date.today()), "python": platform.python_version(), "rounds": rounds,
             "kernels": kernels.COMPILED, "load_average": load}  # fmt: skip
    runs = [{"engine": engine, "core": core, "env_steps_per_cpu_s": list(speeds)}
            for (engine, core), speeds in found.items()]  # fmt: skip
    kept = HERE / "results" / "cores.json"
    kept.write_text(json.dumps({**facts, "runs": runs}, indent=1) + "\n", encoding="utf-8")
    note = (
        f"Measured {date.today()}: medians of {rounds} rounds, {how} compiled kernels, a load "
        f"average of {load[0]:.1f} on {os.cpu_count()} cores."
    )
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    text = f"{before}{START}\n{table(found)}\n\n{note}\n{END}{after}"
    PAGE.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-write", action="store_true", help="print only")
    given = parser.parse_args()
    load = os.getloadavg()
    found = measure(given.rounds)
    print(table(found))
    if not given.no_write:
        write(found, given.rounds, load)


if __name__ == "__main__":
    main()
