"""Environments without a recipe: the default command against the defaults of SB3, and chance.

    python benchmarks/no_recipe.py --seeds 21 22 23 --jobs 2 --out no_recipe.jsonl
    python benchmarks/no_recipe.py --table no_recipe.jsonl --write docs/no-recipe.md

Needs, beside Spotter's extras: stable-baselines3 minigrid flappy-bird-gymnasium gymnasium-2048.
highway-env was chosen as well and left out: neither side finished 4,000 steps of highway-fast-v0 in
nine minutes. Every job is a process of its own with one thread; both sides get the same env steps
and are then played for the same episodes, as their defaults say, in an environment that is as they
were trained in but scores the game's own rewards; episodes without a limit are cut after 10,000
steps. Time evaluating is that of evaluations, confirmations, the test and the film, as a share of
the run.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import gymnasium as gym

from learn import END, START, evaluating_share, write
from spotter.envs.make import UNLIMITED_CUT
from spotter.rundir.run import Run

SIDES: Final = ("spotter", "sb3", "random")
_SPOTTER: Final = [sys.executable, "-m", "spotter"]


@dataclass(frozen=True)
class Work:
    """One environment, how it is asked for on either side, and for how many steps."""

    address: str
    env_steps: int
    package: str
    env: str = ""
    """What Gymnasium calls it; the address where empty."""
    settings: tuple[str, ...] = ()
    policy: str = "MlpPolicy"
    kwargs: dict[str, Any] = field(default_factory=dict)
    episodes: int = 20
    cost: float = 1.0
    """Of a step of SB3, roughly, a small network being 1; the dear come first."""

    @property
    def name(self) -> str:
        return self.address.removesuffix(":defaults")


WORKS: Final = [
    Work("BipedalWalker-v3", 200_000, "gymnasium"),
    Work("MountainCarContinuous-v0", 100_000, "gymnasium"),
    Work("Blackjack-v1", 200_000, "gymnasium", episodes=2_000, cost=1.4),
    Work("CarRacing-v3", 15_000, "gymnasium", policy="CnnPolicy", episodes=10, cost=25),
    Work("Hopper-v5:defaults", 200_000, "mujoco"),
    Work("InvertedDoublePendulum-v5", 200_000, "mujoco"),
    Work("Reacher-v5", 200_000, "mujoco", episodes=50),
    Work("ALE/Pong-v5:defaults", 30_000, "ale-py", policy="CnnPolicy", episodes=10, cost=11),
    Work("ALE/Freeway-v5", 30_000, "ale-py", policy="CnnPolicy", episodes=10, cost=11),
    Work(
        "VizDoom/Basic:defaults",
        15_000,
        "vizdoom",
        env="vizdoom.gymnasium_wrapper:VizdoomBasic-v1",
        policy="MultiInputPolicy",
        kwargs={"frame_skip": 4},
        episodes=50,
        cost=12,
    ),
    Work("MinAtar/Freeway", 200_000, "minatar", env="minatar.gym:MinAtar/Freeway-v1"),
    Work("MinAtar/Seaquest", 200_000, "minatar", env="minatar.gym:MinAtar/Seaquest-v1"),
    Work(
        "minigrid:MiniGrid-Empty-8x8-v0",
        100_000,
        "minigrid",
        settings=("env.drop=[mission]",),
        episodes=50,
        cost=2,
    ),
    Work("flappy_bird_gymnasium:FlappyBird-v0", 100_000, "flappy-bird-gymnasium", cost=3),
    Work("gymnasium_2048:gymnasium_2048/TwentyFortyEight-v0", 100_000, "gymnasium-2048", cost=2),
]
TUNED_ON: Final = [
    Work("LunarLander-v3:defaults", 200_000, "gymnasium"),
    Work("Acrobot-v1:defaults", 100_000, "gymnasium"),
    Work("Taxi-v4:defaults", 200_000, "gymnasium", episodes=100),
    Work("CliffWalking-v1:defaults", 100_000, "gymnasium"),
    Work("Pendulum-v1:defaults", 100_000, "gymnasium", episodes=50),
    Work("LunarLanderContinuous-v3:defaults", 200_000, "gymnasium"),
    Work("HalfCheetah-v5:defaults", 300_000, "mujoco", episodes=10),
    Work("Walker2d-v5:defaults", 300_000, "mujoco"),
    Work("Swimmer-v5", 200_000, "mujoco", episodes=10),
    Work("MinAtar/Asterix:defaults", 200_000, "minatar", env="minatar.gym:MinAtar/Asterix-v1"),
    Work("ALE/Breakout-v5:defaults", 100_000, "ale-py", policy="CnnPolicy", cost=4),
    Work("VizDoom/DefendTheCenter:defaults", 60_000, "vizdoom",
         env="vizdoom.gymnasium_wrapper:VizdoomDefendCenter-v1", policy="MultiInputPolicy",
         kwargs={"frame_skip": 4}, cost=12),
    Work("minigrid:MiniGrid-DoorKey-5x5-v0", 200_000, "minigrid",
         settings=("env.drop=[mission]",), episodes=50, cost=2),
]  # fmt: skip


def main() -> None:
    options = _options()
    if options.table:
        text = table(_read(options.table))
        print(text)
        if options.write:
            write(options.write, f"{START}\n{text}\n{END}")
    elif options.one:
        side, name, seed = options.one
        work = _work(name)
        work = replace(work, env_steps=int(options.scale * work.env_steps))
        print(json.dumps(one(side, work, int(seed), options.set)))
    else:
        run_all(options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[21, 22, 23])
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--envs", nargs="+", help="parts of their names; default: all of the table")
    parser.add_argument(
        "--tuned-on", action="store_true", help="those that defaults were chosen by"
    )
    parser.add_argument("--set", action="append", default=[], help="a setting for Spotter's side")
    parser.add_argument("--scale", type=float, default=1.0, help="of the env steps, for a trial")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit-s", type=float, default=1e6, help="start nothing after so long")
    parser.add_argument("--out", type=Path, default=Path("no_recipe.jsonl"))
    parser.add_argument("--table", type=Path, help="print what is in this file and run nothing")
    parser.add_argument("--write", type=Path, help="with --table: page whose table to replace")
    parser.add_argument("--one", nargs=3, metavar=("SIDE", "ENV", "SEED"), help="used by itself")
    return parser.parse_args()


def _work(name: str) -> Work:
    return next(work for work in [*WORKS, *TUNED_ON] if work.name == name)


# --- many ----------------------------------------------------------------------------------------


def run_all(options: argparse.Namespace) -> None:
    works = TUNED_ON if options.tuned_on else WORKS
    chosen = [w for w in works if not options.envs or any(part in w.name for part in options.envs)]
    there = {(row["side"], row["env"], row["seed"]) for row in _read(options.out)}
    jobs = [(side, w, seed) for side in options.sides for w in chosen for seed in options.seeds]
    jobs = [job for job in jobs if (job[0], job[1].name, job[2]) not in there]
    jobs.sort(key=_cost, reverse=True)
    until = time.monotonic() + options.limit_s
    with ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(_apart, *job, options, until) for job in jobs]
        for done in as_completed(running):
            if row := done.result():
                with options.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(json.dumps(row), flush=True)


def _cost(job: tuple[str, Work, int]) -> float:
    side, work, _ = job
    share = {"spotter": 0.5, "sb3": 1.0, "random": 0.02}[side]
    return share * work.cost * work.env_steps


def _apart(
    side: str, work: Work, seed: int, options: argparse.Namespace, until: float
) -> dict[str, Any]:
    """A job in a process of its own."""
    left = until - time.monotonic()
    if left < 0:
        return {}
    command = [sys.executable, __file__, "--one", side, work.name, str(seed)]
    command += ["--scale", str(options.scale)]
    command += [word for setting in options.set for word in ("--set", setting)]
    calm = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    quiet = {**calm, "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, env={**os.environ, **quiet}, capture_output=True, text=True, timeout=left,
            check=False, encoding="utf-8",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {}
    if done.returncode:
        print(side, work.name, seed, done.stderr[-600:], file=sys.stderr, flush=True)
        return {}
    wall = time.monotonic() - started
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {"side": side, "env": work.name, "seed": seed, **found, "wall_s": round(wall, 1)}


# --- one -----------------------------------------------------------------------------------------


def one(side: str, work: Work, seed: int, settings: list[str]) -> dict[str, Any]:
    if side == "spotter":
        return by_spotter(work, seed, settings)
    return by_sb3(work, seed) if side == "sb3" else at_random(work, seed)


def by_spotter(work: Work, seed: int, settings: list[str]) -> dict[str, Any]:
    """`spotter train`, then `spotter eval --episodes`, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        asked = [f"seed={seed}", f"budget.env_steps={work.env_steps}", "threads=1"]
        _spotter(folder, "train", work.address, *asked, *work.settings, *settings, "--quiet")
        run = next(path.parent for path in Path(folder).glob("runs/*/run.json"))
        played = _spotter(folder, "eval", "@last", "--episodes", str(work.episodes))
        env_steps, share = Run(run).info()["env_steps"], evaluating_share(Run(run))
    score = float(played.partition("score ")[2].split()[0])
    return {"score": score, "env_steps": env_steps, "evaluating": share}


def _spotter(folder: str, *words: str) -> str:
    done = subprocess.run([*_SPOTTER, *words], cwd=folder, capture_output=True, text=True,
                          check=False, encoding="utf-8")  # fmt: skip
    if done.returncode not in (0, 1):
        raise SystemExit(f"spotter {' '.join(words)}: {done.stdout[-300:]}{done.stderr[-500:]}")
    return done.stdout


def by_sb3(work: Work, seed: int) -> dict[str, Any]:
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.evaluation import evaluate_policy

    torch.set_num_threads(1)
    device = "cpu" if work.policy == "MlpPolicy" else "auto"  # faster there, and the same
    model = PPO(work.policy, _of_sb3(work, seed, training=True), seed=seed, device=device)
    model.learn(work.env_steps)
    scores, _ = evaluate_policy(
        model, _of_sb3(work, seed + 10_000, training=False), work.episodes,
        deterministic=True, return_episode_rewards=True, warn=False,
    )  # fmt: skip
    return {"score": statistics.fmean(scores), "env_steps": model.num_timesteps}


def _of_sb3(work: Work, seed: int, training: bool) -> Any:
    """As SB3's own guide makes it: Atari in its wrappers and stacked, all others bare."""
    from stable_baselines3.common.env_util import make_atari_env, make_vec_env
    from stable_baselines3.common.vec_env import VecFrameStack

    if work.package == "ale-py":
        import ale_py

        gym.register_envs(ale_py)
        wrappers = {"clip_reward": training, "terminal_on_life_loss": training}
        atari = make_atari_env(
            work.name, seed=seed, env_kwargs={"frameskip": 1}, wrapper_kwargs=wrappers
        )
        return VecFrameStack(atari, 4)
    return make_vec_env(lambda: made(work, cut=not training), seed=seed)


def made(work: Work, cut: bool = False) -> gym.Env[Any, Any]:
    """`cut`: as Spotter's evaluation does, end episodes that nothing else limits."""
    module, _, name = (work.env or work.name).rpartition(":")
    if module == "minatar.gym":
        import minatar.gym

        minatar.gym.register_envs()
    elif module:
        __import__(module)
    if work.package == "ale-py":
        import ale_py

        gym.register_envs(ale_py)
    env = gym.make(name, **work.kwargs)
    if work.package == "minigrid":
        wrappers: Any = importlib.import_module("minigrid.wrappers")
        env = gym.wrappers.FlattenObservation(wrappers.ImgObsWrapper(env))
    if isinstance(env.observation_space, gym.spaces.Tuple):  # which SB3 refuses
        env = gym.wrappers.FlattenObservation(env)
    endless = env.spec is not None and env.spec.max_episode_steps is None
    return gym.wrappers.TimeLimit(env, UNLIMITED_CUT) if cut and endless else env


def at_random(work: Work, seed: int) -> dict[str, Any]:
    env = made(work)
    env.action_space.seed(seed)
    scores = []
    for episode in range(work.episodes):
        env.reset(seed=seed * 1_000_000 + episode)
        score, over = 0.0, False
        while not over:
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            score, over = score + float(reward), terminated or truncated
        scores.append(score)
    return {"score": statistics.fmean(scores), "env_steps": 0}


# --- the table -----------------------------------------------------------------------------------


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| environment | package | env steps | random | SB3's PPO | Spotter | time evaluating |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for work in [*WORKS, *TUNED_ON]:
        of = {
            side: [r for r in rows if (r["env"], r["side"]) == (work.name, side)] for side in SIDES
        }
        if not any(of.values()):
            continue
        scores = [_shown([r["score"] for r in of[side]]) for side in ("random", "sb3", "spotter")]
        shares = [r["evaluating"] for r in of["spotter"] if "evaluating" in r]
        share = f"{statistics.fmean(shares):.0%}" if shares else "–"
        cells = [f"`{work.name}`", work.package, f"{work.env_steps:,}", *scores, share]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _shown(scores: list[float]) -> str:
    """The mean over seeds, and each."""
    if not scores:
        return "–"
    digits = 2 if max(abs(score) for score in scores) < 10 else 0
    each = ", ".join(f"{score:.{digits}f}" for score in sorted(scores))
    return f"**{statistics.fmean(scores):.{digits}f}** ({each})"


if __name__ == "__main__":
    main()
