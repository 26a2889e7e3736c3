"""Do fast paths learn as the reference does? Scores and steps of several seeds, side by side.

    python benchmarks/parity.py [--seeds 5] [--write docs/parity.md] [recipe …]
    python benchmarks/parity.py --change algo.overlap=true CartPole-v1:ppo
    python benchmarks/parity.py --set policy.core=gru --first-seed 21 CartPole-v1:ppo

Each recipe is trained with the reference (torch, one loop over Gymnasium) and with what Spotter
picks by itself; or, with `--change`, as it is and with that setting. `--set` holds for both. They
are compared by an exact permutation test on the mean env steps until the run ended and on the test
score: a small p would say that they differ.
"""

import argparse
import itertools
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

import spotter

RECIPES: Final = (
    "CartPole-v1:ppo",
    "CartPole-v1:a2c",
    "CartPole-v1:reinforce",
    "Acrobot-v1:ppo",
    "Pendulum-v1:ppo",
    "FrozenLake-v1:ppo",
    "Taxi-v4:ppo",
)
REFERENCE: Final = {"policy.engine": "torch", "env.backend": "sync"}


@dataclass(frozen=True)
class Outcome:
    """How one run ended."""

    score: float
    env_steps: int
    seconds: float


def run(recipe: str, seed: int, changes: dict[str, object]) -> Outcome:
    overrides = [f"{path}={value}" for path, value in {"seed": seed, **changes}.items()]
    result = spotter.train(recipe, *overrides, quiet=True, save=False)
    return Outcome(result.score or 0.0, result.env_steps, result.seconds)


def difference(a: list[float], b: list[float]) -> float:
    """Share of ways to deal the values out that differ at least as much: a two-sided p."""
    values, seen = a + b, abs(fmean(a) - fmean(b))
    hands = list(itertools.combinations(range(len(values)), len(a)))
    as_far = 0
    for hand in hands:
        one = [values[i] for i in hand]
        other = [values[i] for i in range(len(values)) if i not in hand]
        as_far += abs(fmean(one) - fmean(other)) >= seen - 1e-12
    return as_far / len(hands)


def row(recipe: str, fast: list[Outcome], slow: list[Outcome]) -> str:
    steps = [[float(o.env_steps) for o in side] for side in (fast, slow)]
    scores = [[o.score for o in side] for side in (fast, slow)]
    seconds = [fmean(o.seconds for o in side) for side in (fast, slow)]
    return (
        f"| {recipe} | {fmean(scores[0]):.1f} | {fmean(scores[1]):.1f} "
        f"| {difference(*scores):.2f} | {fmean(steps[0]):,.0f} | {fmean(steps[1]):,.0f} "
        f"| {difference(*steps):.2f} | {seconds[1] / seconds[0]:.1f}× |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recipes", nargs="*", default=RECIPES)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--change", metavar="KEY=VALUE", help="what to compare the recipe with")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="for both sides"
    )
    parser.add_argument("--write", type=Path, help="a Markdown file for the table")
    args = parser.parse_args()
    both: dict[str, object] = dict(pair.split("=", 1) for pair in args.set)
    change: dict[str, object] = dict([args.change.split("=", 1)]) if args.change else {}
    reference = {} if change else dict(REFERENCE)
    lines = [
        "| recipe | score, fast | score, reference | p | env steps, fast | reference | p | wall |",
        "|---|---|---|---|---|---|---|---|",
    ]
    print(*lines, sep="\n", flush=True)
    for recipe in args.recipes:
        fast: list[Outcome] = []
        slow: list[Outcome] = []
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            # in turn, so that a busy minute hits both
            fast.append(run(recipe, seed, both | change))
            slow.append(run(recipe, seed, both | reference))
            print(f"seed {seed}: {fast[-1]}, reference {slow[-1]}", file=sys.stderr, flush=True)
        lines.append(row(" ".join([recipe, *args.set]), fast, slow))
        print(lines[-1], flush=True)
    if args.write:
        args.write.write_text(
            "\n".join([*lines, "", f"Seeds: {args.seeds}. {platform.processor()}"])
        )


if __name__ == "__main__":
    main()
