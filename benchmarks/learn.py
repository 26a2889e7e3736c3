"""Does every recipe keep its promise? Trains each `expect:` block over several seeds.

    python benchmarks/learn.py                          all recipes, prints the table
    python benchmarks/learn.py CartPole-v1:ppo          one of them
    python benchmarks/learn.py --write docs/results.md  and refresh the page

Scores are mean raw returns on test seeds. Exits 1 if any seed misses its promise. With --write,
outcomes are kept beside the page as JSON, so training one recipe again replaces its row only.
"""

import argparse
import json
import platform
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from spotter import machine
from spotter.config import recipes, resolve
from spotter.rundir.files import write_json

_GAMES: Final = ("atari", "minatar", "retro", "vizdoom")  # see games.py
_LAST_UPDATE = 1.05  # the update under way when the promised step count passes may finish
_START, _END = "<!-- results:start -->", "<!-- results:end -->"


@dataclass(frozen=True)
class Outcome:
    address: str
    seed: int
    score: float
    env_steps: int
    seconds: float
    kept: bool


def addresses() -> list[str]:
    """Every variant with a promise; games, which take hours together, only when named."""
    everything = (
        f"{name}:{variant}"
        for name, path in recipes.files().items()
        for variant in recipes.variants(recipes.open_source(path))
    )
    found = {address: resolve(address) for address in everything}
    return [
        address
        for address, resolved in found.items()
        if resolved.expect is not None and resolved.config.env.family not in _GAMES
    ]


def run(address: str, seed: int) -> Outcome:
    from spotter.training import train

    resolved = resolve(address, {"seed": seed})
    assert resolved.expect is not None
    result = train(resolved.config)
    assert result.score is not None
    in_time = result.env_steps <= resolved.expect.env_steps * _LAST_UPDATE
    kept = result.score >= resolved.expect.score and in_time
    return Outcome(address, seed, result.score, result.env_steps, result.seconds, kept)


def remember(path: Path, outcomes: dict[str, list[Outcome]]) -> dict[str, list[Outcome]]:
    """Merge new outcomes into those kept in a file; recipes that are gone are forgotten."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kept |= {address: [asdict(o) for o in group] for address, group in outcomes.items()}
    known = {address: kept[address] for address in addresses() if address in kept}
    write_json(path, known)
    return {address: [Outcome(**o) for o in group] for address, group in known.items()}


def row(address: str, outcomes: list[Outcome]) -> str:
    resolved = resolve(address)
    assert resolved.expect is not None
    scores = [outcome.score for outcome in outcomes]
    steps = [outcome.env_steps for outcome in outcomes]
    kept = sum(outcome.kept for outcome in outcomes)
    best = optimum(address)
    return (
        f"| {address} | {resolved.expect.score:g} | {kept}/{len(outcomes)} "
        f"| {statistics.fmean(scores):.2f} | {min(scores):.2f} "
        f"| {'' if best is None else f'{best:.2f}'} "
        f"| {statistics.median(steps):,.0f} | {max(steps):,} "
        f"| {statistics.median(o.seconds for o in outcomes):.0f} |"
    )


def optimum(address: str) -> float | None:
    """What value iteration says, for environments that publish their transition table."""
    env = resolve(address).config.env
    if env.family != "toy_text":
        return None
    from spotter.envs.toy_text import optimum as solve

    return solve(env)


def table(outcomes: dict[str, list[Outcome]]) -> str:
    head = (
        "| recipe | promised | seeds that kept it | mean score | worst seed | optimum "
        "| env steps (median) | env steps (most) | seconds (median) |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )
    return "\n".join([head, *(row(address, outcomes[address]) for address in outcomes)])


def report(outcomes: dict[str, list[Outcome]]) -> str:
    cores = machine.cores()
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "gymnasium", "numpy"))
    return (
        f"{_START}\nMeasured {date.today()} on {cores} cores ({platform.machine()}, "
        f"Python {platform.python_version()}, {versions}).\n\n{table(outcomes)}\n{_END}"
    )


def write(path: Path, text: str) -> None:
    """Replace the part of a page between the markers."""
    page = path.read_text(encoding="utf-8")
    before, _, rest = page.partition(_START)
    _, _, after = rest.partition(_END)
    path.write_text(before + text + after, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("address", nargs="*", help="recipes to train; default: all")
    parser.add_argument("--seeds", type=int, help="how many seeds; default: as promised")
    parser.add_argument("--first-seed", type=int, default=1, help="e.g. one nobody tuned on")
    parser.add_argument("--jobs", type=int, default=machine.cores(), help="processes")
    parser.add_argument("--write", type=Path, help="page whose results table to replace")
    args = parser.parse_args()

    wanted = args.address or addresses()
    outcomes: dict[str, list[Outcome]] = {}
    tasks: list[tuple[str, int]] = []
    for address in wanted:
        expect = resolve(address).expect
        if expect is None:
            parser.error(f"{address} promises nothing: it has no `expect` block")
        outcomes[address] = []
        seeds = range(args.first_seed, args.first_seed + (args.seeds or expect.seeds))
        tasks += [(address, seed) for seed in seeds]
    with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed(pool.submit(run, *task) for task in tasks):
            outcome = done.result()
            outcomes[outcome.address].append(outcome)
            print(outcome, file=sys.stderr, flush=True)
    for group in outcomes.values():
        group.sort(key=lambda outcome: outcome.seed)
    print(table(outcomes))
    if args.write:
        write(args.write, report(remember(args.write.with_suffix(".json"), outcomes)))
    return 0 if all(o.kept for group in outcomes.values() for o in group) else 1


if __name__ == "__main__":
    sys.exit(main())
