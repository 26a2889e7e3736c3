"""Runs with curves, alerts and evaluations, as training leaves them, without training."""

import math
from typing import Any

import orjson

from spotter.config import resolve
from spotter.rundir.run import Run

ALERT = {
    "id": "entropy-collapse",
    "metric": "policy/entropy",
    "level": "warning",
    "saw": "entropy at 0.012 nats, down from 0.693",
    "advice": "raise algo.entropy, lower algo.lr, or set algo.target_kl",
    "env_steps": 5120,
}


def row(update: int, updates: int, metrics: int = 0) -> dict[str, Any]:
    """What PPO writes, in outline; `metrics` more of them make it as long as a real one."""
    part = update / updates
    written: dict[str, Any] = {"update": update, "env_steps": update * 256}
    written |= {"vector_steps": update * 32, "train/score": 500 * part + 5 * math.sin(update)}
    written |= {"policy/entropy": 0.69 * (1 - part), "policy/approx_kl": 0.01 + 1e-4 * part}
    written |= {"value/explained_variance": part, "loss/value": 1.1 - part, "grad/norm": 0.5}
    written |= {"train/length": written["train/score"], "hp/algo.lr": 1e-3 * (1 - part)}
    written |= {"time/fps": 9000.0 + update, "time/elapsed_s": 0.03 * update, "run/progress": part}
    written |= {"time/env_s": 0.01, "time/learn_s": 0.02}
    written |= {f"info/key{i}/mean": part * i + 0.5 for i in range(metrics)}
    if update % 2:
        written["alerts"] = ["entropy-collapse"]
    return written


def write_rows(run: Run, updates: int, metrics: int = 0) -> None:
    rows = (orjson.dumps(row(update, updates, metrics)) for update in range(1, updates + 1))
    run.metrics_path.write_bytes(b"\n".join(rows) + b"\n")


def evaluation(score: float, env_steps: int, seeds: str = "eval") -> dict[str, Any]:
    scores = [score - 10, score, score + 10]
    return {
        "seeds": seeds, "env_steps": env_steps, "score": score, "scores": scores,
        "threshold": 475.0, "solved": score >= 475, "deterministic": True,
    }  # fmt: skip


def make(
    *overrides: str,
    address: str = "CartPole-v1:ppo",
    updates: int = 100,
    metrics: int = 0,
    **more: Any,
) -> Run:
    """A finished run; `score=480.0` gives it a test score, other fields go into run.json."""
    resolved = resolve(address, overrides)
    created = {name: more.pop(name) for name in ("why", "parent") if name in more}
    run = Run.create(resolved.config, address, ["spotter", "train", address], **created)
    if updates:
        write_rows(run, updates, metrics)
    run.event("alert", ALERT)
    run.event("evaluation", evaluation(120.0, 5120))
    score = more.setdefault("score", 480.0)
    status = more.pop("status", "finished")
    if score is not None:
        run.event("evaluation", evaluation(score, updates * 256, "test"))
    more = {
        "reason": "budget",
        "env_steps": updates * 256,
        "solved": bool(score),
        "best": 120.0,
        **more,
    }
    if status == "running":
        run.update(**more)
    else:
        run.finish(status, **more)
    return run
