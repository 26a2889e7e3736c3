"""Scores in Doom's scenarios without learning, to compare a learned one with.

    python benchmarks/doom_baselines.py [Basic DefendTheCenter] [--episodes 50] [--json FILE]

random    any action, each as likely as the others
still     nothing pressed
attack    shoots without moving
sweep     shoots and goes or turns from side to side
aim       knows where the monsters are on the screen, which the network has to find out: goes or
          turns towards the nearest one, and shoots when it is in the middle
dodge     goes or turns from side to side
walk      forward, with a turn now and then

A script that needs a button which a scenario lacks is left out.

Each plays the game of the scenario's recipe from the same seeds.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from spotter.config import resolve
from spotter.envs.base import family
from spotter.envs.make import EnvBuilder

SCENARIOS = ("Basic", "DefendTheCenter")
NOT_MONSTERS = ("DoomPlayer", "BulletPuff", "Blood")
Names = tuple[str, ...]
Player = Callable[[Names, int, Any], int]
"""From the actions' names, the number of the decision and the game, to an action."""


def still(names: Names, step: int, game: Any) -> int:
    return names.index("nothing")


def attack(names: Names, step: int, game: Any) -> int:
    return names.index("attack")


def sweep(names: Names, step: int, game: Any) -> int:
    return names.index(f"{_sides(names)[step // 15 % 2]}+attack")


def dodge(names: Names, step: int, game: Any) -> int:
    return names.index(_sides(names)[step // 15 % 2])


def walk(names: Names, step: int, game: Any) -> int:
    return names.index("turn_right+move_forward" if step % 24 < 4 else "move_forward")


def aim(names: Names, step: int, game: Any) -> int:
    state, middle = game.get_state(), game.get_screen_width() / 2
    seen = [
        (label.width, label.x + label.width / 2)
        for label in state.labels
        if label.object_name not in NOT_MONSTERS and not label.object_name.startswith("Dead")
    ]
    left, right = _sides(names)
    if not seen:
        return names.index(right)
    width, centre = max(seen)
    if abs(centre - middle) <= max(2.0, width / 4):
        return names.index("attack")
    return names.index(left if centre < middle else right)


def _sides(names: Names) -> tuple[str, str]:
    way = "turn" if "turn_left" in names else "move"
    return f"{way}_left", f"{way}_right"


PLAYERS: dict[str, Player | None] = {
    "random": None,
    "still": still,
    "attack": attack,
    "sweep": sweep,
    "aim": aim,
    "dodge": dodge,
    "walk": walk,
}
NEEDS = {"attack": "attack", "sweep": "attack", "aim": "attack", "walk": "move_forward"}
"""Buttons without which a player cannot play."""


def _actions(scenario: str) -> Names:
    config = resolve(f"VizDoom/{scenario}").config.env
    return family(config).describe(config).action_names


def scores(scenario: str, player: Player | None, episodes: int) -> tuple[list[float], list[int]]:
    """Scores and lengths (decisions) of so many episodes."""
    config = resolve(f"VizDoom/{scenario}").config.env
    names = family(config).describe(config).action_names
    copy = EnvBuilder(config, training=False).build()
    game = copy.env.unwrapped.engine.game  # type: ignore[attr-defined]
    game.set_labels_buffer_enabled(True)
    found, lengths = [], []
    try:
        for seed in range(episodes):
            draw = np.random.default_rng(seed)
            copy.env.reset(seed=seed)
            total, step, is_over = 0.0, 0, False
            while not is_over:
                action = player(names, step, game) if player else int(draw.integers(len(names)))
                _, reward, terminated, truncated, _ = copy.env.step(action)
                total, step, is_over = total + float(reward), step + 1, terminated or truncated
            found.append(total)
            lengths.append(step)
    finally:
        copy.close()
    return found, lengths


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scenarios", nargs="*", default=list(SCENARIOS))
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--players", nargs="+", choices=PLAYERS, default=list(PLAYERS))
    parser.add_argument("--json", type=Path, help="write the scores to this file, too")
    options = parser.parse_args()
    found: dict[str, dict[str, list[float]]] = {}
    for scenario in options.scenarios:
        found[scenario] = {}
        for name in options.players:
            if NEEDS.get(name, "") not in ("", *_actions(scenario)):
                continue
            paid, lengths = scores(scenario, PLAYERS[name], options.episodes)
            found[scenario][name] = paid
            print(
                f"{scenario:16} {name:7} mean {np.mean(paid):8.2f}   std {np.std(paid):7.2f}   "
                f"best {max(paid):7.1f}   decisions {np.mean(lengths):6.1f}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
