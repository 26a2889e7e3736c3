"""Scores in Airstriker without learning, to compare a learned one with.

    python benchmarks/retro_baselines.py [--episodes 20] [--json FILE]

random    any combination of buttons, each as likely as the others
still     nothing pressed
fire      shoots without moving
sweep     shoots and goes from side to side

Each plays the recipe's game (`Retro/Airstriker-Genesis:ppo`) from the same seeds.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from spotter.config import resolve
from spotter.envs.make import EnvBuilder

ADDRESS = "Retro/Airstriker-Genesis:ppo"
NOTHING, LEFT_B, RIGHT_B, B = 0, 4, 5, 3
Player = Callable[[int, np.random.Generator], int]
PLAYERS: dict[str, Player] = {
    "random": lambda step, draw: int(draw.integers(6)),
    "still": lambda step, draw: NOTHING,
    "fire": lambda step, draw: B,
    "sweep": lambda step, draw: LEFT_B if step // 10 % 2 else RIGHT_B,
}


def scores(player: Player, episodes: int) -> tuple[list[float], list[int]]:
    """Scores and lengths (decisions) of so many games."""
    env = EnvBuilder(resolve(ADDRESS).config.env, training=False).build().env
    found, lengths = [], []
    try:
        for seed in range(episodes):
            draw = np.random.default_rng(seed)
            env.reset(seed=seed)
            total, step, is_over = 0.0, 0, False
            while not is_over:
                _, reward, terminated, truncated, _ = env.step(player(step, draw))
                total, step, is_over = total + float(reward), step + 1, terminated or truncated
            found.append(total)
            lengths.append(step)
    finally:
        env.close()
    return found, lengths


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--json", type=Path, help="write the scores to this file, too")
    parser.add_argument("--players", nargs="+", choices=PLAYERS, default=list(PLAYERS))
    options = parser.parse_args()
    found = {}
    for name in options.players:
        paid, lengths = scores(PLAYERS[name], options.episodes)
        found[name] = paid
        print(
            f"{name:8} mean {np.mean(paid):8.1f}   std {np.std(paid):7.1f}   "
            f"best {max(paid):7.0f}   decisions {np.mean(lengths):6.0f}",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
