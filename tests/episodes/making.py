"""Runs with a checkpoint, without training for long, and traces made by hand."""

from typing import Any

import numpy as np

from spotter.episodes.format import Frames, Meta, Trace
from spotter.rundir.run import Run
from spotter.training.checkpoint import Contents, Keeper
from spotter.training.training import Training


def saved(config, updates: int = 0) -> Run:
    """A finished run whose only checkpoint holds the weights after so many updates."""
    run = Run.create(config, f"{config.env.id}:{config.algo.name}")
    with Training(config) as training:
        for _ in range(updates):
            training.step()
        row = {"env_steps": training.env_steps}
        state = {"training": training.state()}  # as `Loop.state` has it
        contents = Contents(training.env_steps, training.policy, state, row, "copy\n")
        Keeper(run, config.checkpoint).save(contents)
    run.finish("finished")
    return run


def meta(**fields: Any) -> Meta:
    known: dict[str, Any] = {
        "run": "20260101-000000-abcd",
        "checkpoint": "step-000000512",
        "env_id": "Made-v0",
        "mode": "greedy",
        "seed": 3,
        "gamma": 0.9,
        "lam": 0.8,
        "action_names": ("left", "right"),
        "parts": ("env",),
        "info": (),
        "score": 0.0,
        "length": 3,
        "end": "terminated",
        "final_value": 0.0,
        "fps": 30,
        "fingerprint": "f" * 16,
        "settings": {"env": {"id": "Made-v0"}},
        "versions": {"spotter": "0"},
        "nvec": (2,),
    }
    return Meta(**{**known, **fields})


def trace(reward=(1.0, 0.0, 2.0), value=None, frames=None, columns=None, **fields: Any) -> Trace:
    """A small episode of two choices."""
    paid = np.array(reward, np.float64)
    length = len(paid)
    made = {
        "action": np.arange(length) % 2,
        "reward": paid,
        "training_reward": paid.copy(),
        "part": paid[:, None].copy(),
        "info": np.zeros((length, len(fields.get("info", ())))),
        "greedy": np.ones(length, np.bool_),
        "probability": np.tile(np.float32([0.75, 0.25]), (length, 1)),
        "value": np.zeros(length, np.float32) if value is None else np.float32(value),
    }
    given = {"length": length, "score": float(paid.sum()), **fields}
    return Trace(meta(**given), {**made, **(columns or {})}, frames or Frames())
