"""Run folders with curves, made through the real API, and the server process over them."""

import math
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotter.config import validate
from spotter.rundir.files import LineWriter
from spotter.rundir.run import Run

ALERT = {
    "id": "entropy_collapse",
    "metric": "policy/entropy",
    "level": "warning",
    "saw": "policy/entropy fell to 0.01",
    "advice": "Raise algo.entropy.",
}


def rows(updates: int, level: float = 200.0) -> list[dict[str, Any]]:
    """What a PPO run on CartPole writes, in outline: 60 metrics a row, as real ones have."""
    made = []
    for update in range(1, updates + 1):
        share = update / updates
        steps = update * 256
        row: dict[str, Any] = {"update": update, "env_steps": steps, "vector_steps": steps // 8}
        row |= {
            "train/score": level * (1 - math.exp(-4 * share)) + 5 * math.sin(update),
            "train/reward": level * share,
            "train/length": level * share + 1,
            "reward/env": level * share,
            "loss/policy": 0.01 * math.sin(update),
            "loss/value": 1 - share,
            "loss/entropy": -0.01,
            "loss/total": 1.01 - share,
            "policy/entropy": 0.69 * (1 - share),
            "policy/approx_kl": 0.01,
            "value/explained_variance": share,
            "action/share/0": 0.5 + 0.3 * share,
            "action/share/1": 0.5 - 0.3 * share,
            "hp/algo.lr": 3e-4,
            "time/fps": 9000.0,
            "time/elapsed_s": update * 0.03,
            "time/env_s": 0.01,
            "time/learn_s": 0.02,
            "run/progress": share,
        }
        row |= {f"info/key{number}/mean": share * number for number in range(40)}
        if update % 50 == 0:
            row["eval/score"] = level * share
        made.append(row)
    return made


def make_run(
    home: Path,
    env: str = "CartPole-v1",
    *,
    updates: int = 100,
    level: float = 200.0,
    status: str = "finished",
    tags: tuple[str, ...] = (),
    alerts: tuple[dict[str, Any], ...] = (),
    parent: dict[str, Any] | None = None,
    variant: str = "ppo",
    seed: int = 1,
    solved: bool = False,
    group: str = "",
    **algo: Any,
) -> Run:
    """A run nobody trained: real folder, real files, invented numbers."""
    config = validate(
        {
            "env": {"id": env, "family": "gymnasium", "count": 8},
            "algo": {"name": "ppo", "steps": 32, **algo},
            "budget": {"env_steps": updates * 256},
            "seed": seed,
        }
    )
    address = f"{env}:{variant}"
    command = ["spotter", "train", address]
    run = Run.create(config, address, command, parent=parent, group=group, home=home)
    made = rows(updates, level)
    if alerts:
        made[-1]["alerts"] = [alert["id"] for alert in alerts]
    with LineWriter(run.metrics_path) as lines:
        for row in made:
            lines.write(row)
    for alert in alerts:
        run.event("alert", {**alert, "env_steps": updates * 128})
    (run.folder / "run.log").write_text(f"training {env}\nlast line of {run.id}\n")
    for tag in tags:
        run.tag(tag)
    if status != "running":
        score = None if status == "interrupted" else level  # who was stopped was not tested
        run.finish(status, env_steps=updates * 256, score=score, best=level, solved=solved,
                   reason="budget")  # fmt: skip
    return run


def failed_run(home: Path, reason: str) -> Run:
    """A run that died before its first update."""
    config = validate(
        {"env": {"id": "CartPole-v1", "family": "gymnasium"}, "algo": {"name": "ppo"}}
    )
    run = Run.create(config, "CartPole-v1:ppo", ["spotter", "train", "CartPole-v1:ppo"], home=home)
    run.finish("failed", reason=reason)
    return run


@dataclass
class Server:
    """A studio process of one's own."""

    url: str
    runs: Path
    process: "subprocess.Popen[str]"
    lines: list[str]

    @property
    def port(self) -> int:
        return int(re.search(r":(\d+)/", self.url)[1])  # type: ignore[index]

    def stop(self) -> str:
        """End it; what it wrote to stderr."""
        self.process.terminate()
        try:
            return self.process.communicate(timeout=600)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.communicate()[1]


def start_server(
    runs: Path, *options: str, port: int = 0, cwd: Path | None = None, **variables: str
) -> Server:
    """`spotter studio` in a process of its own; returns once it listens."""
    others = ("PYTEST_CURRENT_TEST", "SPOTTER_LLM_URL", "SPOTTER_LLM_MODEL", "SPOTTER_LLM_KEY")
    env = {key: value for key, value in os.environ.items() if key not in others}
    env |= {"SPOTTER_RUNS": str(runs), "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}
    env |= variables
    code = (
        "import sys, typer; from spotter.cli import studio; app = typer.Typer(); "
        "app.command()(studio.run); app()"
    )
    command = [sys.executable, "-c", code, "--no-browser", "--port", str(port), *options]
    process = subprocess.Popen(
        command, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    found = re.search(r"http://\S+", first)
    if not found:
        process.kill()
        raise AssertionError(f"studio did not start: {first}{process.communicate()[1]}")
    return Server(found[0], runs, process, [first])
