"""What a score is worth: what chance gets, and what a few lines of code get, in the same game.

    python benchmarks/baselines.py ALE/Pong-v5:objects ALE/Pong-v5:objects_sticky
    python benchmarks/baselines.py ALE/Breakout-v5:rgb --episodes 30 --set env.sticky=0.25

A script sees named numbers and answers with the name of an action; it gets nothing else. To add
one, write a function and name it in `SCRIPTS`; `SEEN` says what a family must show it.
"""

import argparse
import json
import statistics
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from spotter import seeding
from spotter.config import EnvConfig, resolve
from spotter.envs.backends.vector import VectorEnv
from spotter.envs.base import family
from spotter.envs.grade import random_action
from spotter.envs.make import make_vector

Seen = Mapping[str, float]
Script = Callable[[Seen], str]
Choose = Callable[[VectorEnv], Any]
_MOST_COPIES = 16
_COLUMNS = ("random", "scripted")


def pong(seen: Seen) -> str:
    """Keep the middle of the paddle at the height of the ball."""
    if not seen["ball visible"]:
        return "noop"
    above = seen["player y"] + 8 - (seen["ball y"] + 2)
    return "right" if above > 4 else "left" if above < -4 else "noop"


def breakout(seen: Seen) -> str:
    """Keep the middle of the paddle under the ball; serve when there is none."""
    if not seen["ball visible"]:
        return "fire"
    ahead = seen["ball x"] + 1 - (seen["paddle x"] + seen["half the paddle's width"])
    return "right" if ahead > 4 else "left" if ahead < -4 else "noop"


SCRIPTS: dict[str, Script] = {"ALE/Pong-v5": pong, "ALE/Breakout-v5": breakout}
SEEN: dict[str, dict[str, Any]] = {"atari": {"observe": "objects", "stack": 1, "noop_action": True}}


def main() -> None:
    options = _options()
    print(f"{'recipe':32} {'random':>22} {'scripted':>22}   mean, least to largest")
    for address in options.recipes:
        env = resolve(address, options.set).config.env
        rows = {"random": at_random(env, options.episodes, options.seed)}
        if env.id in SCRIPTS:
            rows["scripted"] = by_script(env, options.episodes, options.seed)
        print(f"{address:32} " + " ".join(f"{_told(rows.get(name)):>22}" for name in _COLUMNS))
        if options.json:
            line = {"recipe": address, "settings": options.set, "seed": options.seed, **rows}
            with options.json.open("a") as file:
                file.write(json.dumps(line) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("recipes", nargs="+", metavar="RECIPE")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="append the results to this file")
    return parser.parse_args()


def _told(scores: list[float] | None) -> str:
    if not scores:
        return "-"
    return f"{statistics.fmean(scores):.2f} ({min(scores):g} to {max(scores):g})"


def at_random(env: EnvConfig, episodes: int, seed: int) -> list[float]:
    """Scores of valid actions, all equally likely."""
    return play(env, random_choice(seed), episodes, seed)


def random_choice(seed: int) -> Choose:
    draw = np.random.default_rng(seeding.integer(seed, "random baseline"))

    def choose(vector: VectorEnv) -> Any:
        masks = vector.buffers.mask
        valid = [None] * vector.count if masks is None else list(masks)
        return np.stack([random_action(vector.spaces.action, draw, mask) for mask in valid])

    return choose


def by_script(env: EnvConfig, episodes: int, seed: int) -> list[float]:
    """Scores of the game's script."""
    env = env.model_copy(update=SEEN.get(env.family, {}))
    script, told = SCRIPTS[env.id], family(env).describe(env)

    def choose(vector: VectorEnv) -> Any:
        rows = vector.buffers.obs["obs"].tolist()
        names = [script(dict(zip(told.observation_names, row, strict=True))) for row in rows]
        return np.array([told.action_names.index(name) for name in names])

    return play(env, choose, episodes, seed)


def play(env: EnvConfig, choose: Choose, episodes: int, seed: int) -> list[float]:
    """Scores of whole games; as many in each env, so that short ones do not count for more."""
    count = min(episodes, _MOST_COPIES)
    left = np.array([len(range(row, episodes, count)) for row in range(count)])
    scores: list[float] = []
    with closing(make_vector(env, count=count)) as vector:
        vector.reset(seeding.integers(seed, "test envs", count))
        while left.any():
            for episode in vector.step(choose(vector), left > 0):
                left[episode.env] -= 1
                scores.append(episode.score)
    return scores


if __name__ == "__main__":
    main()
