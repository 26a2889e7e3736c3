"""What every contestant's script shares: its command line, its stopwatch and its last line.

A script makes a `Meter`, calls `tick` after each update and `finish` at the end; the last line of
its output is one JSON object. The speed is Δsteps / Δwall after the warm-up, without evaluation
(and Δsteps / ΔCPU, where one process does everything); the time to score counts everything since
the process was started.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from works import WORKS, Work

STARTED = "BENCH_STARTED"
"""Environment variable: when the process was started, in seconds since the epoch."""
_EVALUATE_EVERY = 2_560
_EPISODES = 20
_SEED = 10_000
Act = Callable[[np.ndarray], Any]
"""Greedy actions for a batch of observations."""


def arguments() -> tuple[Work, int]:
    """The work and the seed this script is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("work", choices=WORKS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the work's env steps")
    options = parser.parse_args()
    work = WORKS[options.work]
    return (work if options.share == 1 else work.shortened(options.share)), options.seed


class Meter:
    """A stopwatch read after each update."""

    def __init__(self, work: Work, *packages: str) -> None:
        self.work = work
        self._packages = packages
        self._began = float(os.environ.get(STARTED, time.time()))
        self._first: tuple[float, float, int] | None = None
        """Wall time, CPU time of this process, env steps."""
        self._last: tuple[float, float, int] | None = None
        self._paused = self._paused_cpu = 0.0
        self._next_evaluation = _EVALUATE_EVERY
        self._start_s: float | None = None
        self._to_score: tuple[float, int] | None = None

    def tick(self, env_steps: int, act: Act | None = None) -> None:
        """An update is over, `env_steps` have been taken in all."""
        if env_steps <= 0:
            return
        wall = time.perf_counter() - self._paused
        now = wall, time.process_time() - self._paused_cpu, env_steps
        if self._start_s is None:
            self._start_s = time.time() - self._began
        if self._first is None and env_steps >= self.work.warm_up:
            self._first = now
        self._last = now
        if act and self._to_score is None and self.work.score is not None:
            self._evaluate(env_steps, act)

    def _evaluate(self, env_steps: int, act: Act) -> None:
        if env_steps < self._next_evaluation:
            return
        self._next_evaluation = (env_steps // _EVALUATE_EVERY + 1) * _EVALUATE_EVERY
        began, began_cpu = time.perf_counter(), time.process_time()
        assert self.work.score is not None
        if play(self.work.env, act) >= self.work.score:
            self.scored(env_steps)
        self._paused += time.perf_counter() - began
        self._paused_cpu += time.process_time() - began_cpu

    def scored(self, env_steps: int) -> None:
        """The score has been reached, now."""
        self._to_score = (time.time() - self._began, env_steps)

    def finish(self, **extra: Any) -> None:
        """Print the result; `extra` replaces what is not true of several processes."""
        if self._first is None or self._last is None or self._last[2] <= self._first[2]:
            sys.exit("no update after the warm-up")
        pairs = zip(self._last, self._first, strict=True)
        seconds, cpu_seconds, env_steps = (last - first for last, first in pairs)
        reached = self._to_score or (None, None)
        result = {
            "work": self.work.name,
            "env_steps": env_steps,
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "steps_per_s": env_steps / seconds,
            "start_s": self._start_s,
            "to_score_s": reached[0],
            "to_score_env_steps": reached[1],
            "peak_mb": peak_mb(),
            "versions": {name: version(name) for name in self._packages},
        }
        print(json.dumps(result | extra), flush=True)


def play(env_id: str, act: Act) -> float:
    """Mean score of twenty episodes played side by side: one loop, the same for everybody."""
    import gymnasium

    envs = [gymnasium.make(env_id) for _ in range(_EPISODES)]
    obs = [env.reset(seed=_SEED + index)[0] for index, env in enumerate(envs)]
    scores, active = np.zeros(_EPISODES), list(range(_EPISODES))
    while active:
        actions = np.asarray(act(np.stack([obs[index] for index in active])))
        over = set()
        for index, action in zip(active, actions, strict=True):
            obs[index], reward, terminated, truncated, _ = envs[index].step(action)
            scores[index] += float(reward)
            if terminated or truncated:
                over.add(index)
        active = [index for index in active if index not in over]
    return float(scores.mean())


def peak_mb() -> float | None:
    """The most memory this process has held; None where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak / (2**20 if sys.platform == "darwin" else 2**10))
