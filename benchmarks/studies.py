"""The same tasks with and without something: memory, predictions, bonuses; a table each.

    python benchmarks/studies.py memory --jobs 2               train, and keep outcomes
    python benchmarks/studies.py predict --seeds 11 12 --tasks CartPole
    python benchmarks/studies.py memory --table                print what was kept
    python benchmarks/studies.py memory --write                and put it into the page

Every training is a process of its own with one thread, and stops when it is solved or its budget is
spent. Outcomes are kept in benchmarks/results/<study>.jsonl; what is there is not trained again.
`p` is of a permutation test on ranks: how often chance alone would part the seeds so clearly.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from learn import END, START, write

HERE: Final = Path(__file__).resolve().parent
SHUFFLES: Final = 20_000
Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    name: str
    address: str
    env_steps: int
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Study:
    page: str
    tasks: tuple[Task, ...]
    sides: dict[str, tuple[str, ...]]
    """The first is what the others are compared with."""
    counts: str
    """`score`, or `steps`: env steps until the threshold, the budget where it was not reached."""


def _hidden(*indices: int) -> str:
    return f"env.wrappers=[{{name: hide, indices: {list(indices)}}}]"


def _stacked(*indices: int) -> str:
    hide = f"{{name: hide, indices: {list(indices)}}}, " if indices else ""
    return f"env.wrappers=[{hide}{{name: frame_stack, count: 4}}]"


VIEW: Final = "env.kwargs={agent_view_size: 3}"
MEMORY: Final = Study(
    "docs/howto/memory.md",
    (
        Task("popgym-RepeatPreviousEasy", "popgym-RepeatPreviousEasy-v0", 400_000),
        Task("popgym-RepeatPreviousMedium", "popgym-RepeatPreviousMedium-v0", 400_000),
        Task("popgym-PositionOnlyCartPoleEasy", "popgym-PositionOnlyCartPoleEasy-v0", 300_000),
        Task("popgym-NoisyPositionOnlyCartPoleEasy", "popgym-NoisyPositionOnlyCartPoleEasy-v0",
             800_000, ("env.count=32", "algo.lr=5e-4")),
        Task("CartPole without velocities", "CartPole-v1:ppo", 200_000, (_hidden(1, 3),)),
        Task("LunarLander without velocities", "LunarLander-v3:ppo", 600_000,
             (_hidden(2, 3, 5),)),
        Task("MiniGrid-MemoryS7, view 3", "minigrid:MiniGrid-MemoryS7-v0", 400_000, (VIEW,)),
    ),
    {"no memory": (), "last 4": ("stack",), "gru": ("policy.core=gru",)},
    "score",
)  # fmt: skip
PREDICT: Final = Study(
    "docs/howto/predict.md",
    (
        Task("CartPole-v1:ppo", "CartPole-v1:ppo", 100_000),
        Task("Acrobot-v1:ppo", "Acrobot-v1:ppo", 200_000),
        Task("LunarLander-v3:ppo", "LunarLander-v3:ppo", 600_000),
        Task("Taxi-v4:ppo", "Taxi-v4:ppo", 600_000),
    ),
    {
        "neither": (),
        "next": ("policy.predict_obs=0.5",),
        "reward": ("policy.predict_reward=0.5",),
        "both": ("policy.predict_obs=0.5", "policy.predict_reward=0.5"),
    },
    "steps",
)
_NO_BONUS: Final = "reward.signals=[]"
EXPLORE: Final = Study(
    "docs/howto/explore.md",
    (
        Task("MiniGrid-DoorKey-8x8", "MiniGrid-DoorKey-8x8-v0:ppo_count", 300_000),
        Task("MiniGrid-MultiRoom-N4-S5", "MiniGrid-MultiRoom-N4-S5-v1:ppo_count", 500_000),
    ),
    {
        "no bonus": (_NO_BONUS,),
        "visit counts": (),
    },
    "score",
)
STUDIES: Final = {"memory": MEMORY, "predict": PREDICT, "explore": EXPLORE}


def main() -> None:
    options = _options()
    study = STUDIES[options.study]
    kept = options.out or HERE / "results" / f"{options.study}.jsonl"
    if not (options.table or options.write):
        train_all(study, kept, options)
    text = table(study, _read(kept))
    print(text)
    if options.write:
        write(HERE.parent / study.page, f"{START}\n{text}\n{END}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13, 14, 15])
    parser.add_argument("--tasks", nargs="+", help="parts of their names; default: all")
    parser.add_argument("--sides", nargs="+", help="default: all")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit-s", type=float, default=1e6, help="stop after so long")
    parser.add_argument("--out", type=Path, help="where outcomes are kept")
    parser.add_argument("--table", action="store_true", help="print what was kept; train nothing")
    parser.add_argument("--write", action="store_true", help="the same, and refresh the page")
    return parser.parse_args()


def _read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


# --- training ------------------------------------------------------------------------------------


def train_all(study: Study, kept: Path, options: argparse.Namespace) -> None:
    there = {(row["task"], row["side"], row["seed"]) for row in _read(kept)}
    tasks = [t for t in study.tasks if not options.tasks or any(w in t.name for w in options.tasks)]
    jobs = [
        (task, side, seed)
        for seed in options.seeds
        for task in tasks
        for side in options.sides or study.sides
        if (task.name, side, seed) not in there
    ]
    until = time.monotonic() + options.limit_s
    with ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(lambda job: train(study, job[0], job[1], job[2], until), jobs):
            if row:
                with kept.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(json.dumps(row), flush=True)


def train(study: Study, task: Task, side: str, seed: int, until: float) -> Row | None:
    """`spotter train` in an empty folder; None where time has run out."""
    left = until - time.monotonic()
    if left < 1:
        return None
    settings = [*task.settings, *study.sides[side]]
    if "stack" in settings:  # beside what the task hides
        hides = [word for word in task.settings if word.startswith("env.wrappers=")]
        indices = json.loads(hides[0].partition("indices: ")[2].split("}")[0]) if hides else []
        settings = [w for w in settings if w != "stack" and w not in hides] + [_stacked(*indices)]
    asked = [f"seed={seed}", f"budget.env_steps={task.env_steps}", "threads=1", "video.when=null"]
    command = [sys.executable, "-m", "spotter", "train", task.address, *asked, *settings, "--quiet"]
    calm = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                command, cwd=folder, env={**os.environ, **calm}, capture_output=True, text=True,
                timeout=left, check=False, encoding="utf-8",
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
        if done.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(command)}: {done.stdout[-300:]}{done.stderr[-500:]}")
        [file] = Path(folder).glob("runs/*/run.json")
        run = json.loads(file.read_text())
    found = {key: run[key] for key in ("score", "env_steps", "solved", "steps_to_threshold")}
    return {"task": task.name, "side": side, "seed": seed, **found}


# --- the table -----------------------------------------------------------------------------------


def table(study: Study, rows: list[Row]) -> str:
    first, *others = study.sides
    what = {"score": "score", "steps": "env steps to the threshold"}[study.counts]
    heads = [f"{side}" for side in study.sides]
    lines = [
        f"| {what} | {' | '.join(heads)} |",
        f"|---|{'---:|' * len(heads)}",
    ]
    for task in study.tasks:
        of = {
            side: [_counted(study, task, row) for row in rows
                   if (row["task"], row["side"]) == (task.name, side)]
            for side in study.sides
        }  # fmt: skip
        if not any(of.values()):
            continue
        cells = [_cell(study, task, of[first])]
        for side in others:
            p = chance(of[first], of[side])
            told = f", p = {p:.2g}" if p is not None else ""
            cells.append(_cell(study, task, of[side]) + told)
        lines.append(f"| {task.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _counted(study: Study, task: Task, row: Row) -> float:
    if study.counts == "score":
        return float(row["score"])
    steps = row["steps_to_threshold"]
    return float(task.env_steps if steps is None else steps)


def _cell(study: Study, task: Task, values: list[float]) -> str:
    if not values:
        return "–"
    shown: Callable[[float], str] = "{:.3g}".format if study.counts == "score" else "{:,.0f}".format
    mean = shown(statistics.fmean(values))
    if study.counts == "score":
        return f"**{mean}** ({shown(min(values))} … {shown(max(values))})"
    missed = sum(value >= task.env_steps for value in values)
    return f"**{mean}**" + (f", {missed} of {len(values)} not" if missed else "")


def chance(one: list[float], other: list[float]) -> float | None:
    """Of two groups alike to differ so much in their ranks; None where there are too few."""
    if min(len(one), len(other)) < 4:
        return None
    values = sorted([*one, *other])
    ranks = [
        (values.index(x) + len(values) - 1 - values[::-1].index(x)) / 2 for x in [*one, *other]
    ]
    usual = statistics.fmean(ranks)
    draw = random.Random(0)

    def apart() -> float:
        return abs(statistics.fmean(ranks[: len(one)]) - usual)

    seen, times = apart(), 0
    for _ in range(SHUFFLES):
        draw.shuffle(ranks)
        times += apart() >= seen - 1e-9
    return (times + 1) / (SHUFFLES + 1)


if __name__ == "__main__":
    main()
