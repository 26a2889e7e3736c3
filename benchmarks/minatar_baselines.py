"""Scores in MinAtar's games without learning, to compare a learned one with.

    python benchmarks/minatar_baselines.py [GAME ...] [--episodes 200] [--json FILE]

random      every useful action as likely as the others
still       nothing pressed
by a rule   Breakout: stay under the ball; Freeway: always up; Space Invaders: fire from side to
            side; Asterix and Seaquest have no rule this short

Each plays the recipe's game from the same seeds, cut where evaluation would cut it.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from spotter.config import resolve
from spotter.envs.base import family
from spotter.envs.make import EnvBuilder

GAMES = ("Breakout", "Asterix", "Freeway", "Seaquest", "SpaceInvaders")
Player = Callable[[int, Any], str]
"""From the step and the board [10, 10, channels] to the name of an action."""


def _under_the_ball(step: int, board: Any) -> str:
    paddle, ball = (int(np.argwhere(board[:, :, channel])[0][1]) for channel in (0, 1))
    return "noop" if paddle == ball else "left" if ball < paddle else "right"


def _side_to_side(step: int, board: Any) -> str:
    return "fire" if step % 6 == 0 else "left" if step // 30 % 2 else "right"


RULES: dict[str, Player] = {
    "Breakout": _under_the_ball,
    "Freeway": lambda step, board: "up",
    "SpaceInvaders": _side_to_side,
}


def players(game: str, names: tuple[str, ...], draw: np.random.Generator) -> Iterator[Any]:
    yield "random", lambda step, board: names[draw.integers(len(names))]
    yield "still", lambda step, board: "noop"
    if game in RULES:
        yield "by a rule", RULES[game]


def scores(game: str, episodes: int) -> Iterator[tuple[str, list[float], list[int]]]:
    """Player, scores and lengths (decisions) of so many episodes."""
    config = resolve(f"MinAtar/{game}:ppo").config.env
    names = family(config).describe(config).action_names
    env = EnvBuilder(config, training=False).build().env
    for name, player in players(game, names, np.random.default_rng(0)):
        found, lengths = [], []
        for seed in range(episodes):
            board, _ = env.reset(seed=seed)
            total, step, is_over = 0.0, 0, False
            while not is_over:
                action = names.index(player(step, board))
                board, reward, terminated, truncated, _ = env.step(action)
                total, step, is_over = total + float(reward), step + 1, terminated or truncated
            found.append(total)
            lengths.append(step)
        yield name, found, lengths
    env.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("games", nargs="*", metavar="GAME", help=", ".join(GAMES))
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--json", type=Path, help="write the scores to this file, too")
    options = parser.parse_args()
    for game in options.games:
        if game not in GAMES:
            parser.error(f"no game {game}; there are {', '.join(GAMES)}")
    found: dict[str, dict[str, list[float]]] = {}
    for game in options.games or GAMES:
        for name, paid, lengths in scores(game, options.episodes):
            found.setdefault(game, {})[name] = paid
            print(
                f"{game:14} {name:10} mean {np.mean(paid):7.2f}   std {np.std(paid):6.2f}   "
                f"best {max(paid):5.0f}   decisions {np.mean(lengths):6.0f}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
