"""Does every recipe reach the score it states? Trains each `expect:` block over several seeds.

    python benchmarks/learn.py                             all recipes, prints the table
    python benchmarks/learn.py CartPole-v1:ppo             one of them
    python benchmarks/learn.py --seeds 21 22 --jobs 1      other seeds, one training at a time
    python benchmarks/learn.py --write docs/results.md     and refresh the page
    python benchmarks/learn.py --out here.json             outcomes so far, after every training
    python benchmarks/learn.py --add here.json --write docs/results.md    of another machine

Exits 1 if a seed misses its recipe's score. Outcomes are kept in a JSON file beside the page, by
machine: training again on one machine replaces what that machine had for the recipe.
"""

import argparse
import platform
import statistics
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from datetime import date, datetime
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from spotter.config import Resolved, recipes, resolve, validate
from spotter.config.overrides import merge
from spotter.rundir.files import read_json, write_json
from spotter.rundir.run import Run
from spotter.system.machine import cores

if TYPE_CHECKING:
    from spotter.training.run import Result

Outcomes = dict[str, list["Outcome"]]

_PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "results.md"
_GAMES: Final = ("atari", "minatar", "retro", "vizdoom")  # see games.py
_FIRST_SEED: Final = 11  # recipes were tuned on lower ones
_LAST_UPDATE: Final = 1.05  # the update under way when the stated step count passes may finish
_FRESH_SEEDS: Final = 1_000_000  # away from every seed that a run was given
_FRESH_EPISODES: Final = 100
_STEPS_PER_S: Final = 5_000  # a guess, for the order in which trainings start
START, END = "<!-- results:start -->", "<!-- results:end -->"


@dataclass(frozen=True)
class Outcome:
    """One training."""

    address: str
    seed: int
    machine: str
    measured: str
    score: float
    """Of the weights the run kept, on its test seeds."""
    fresh: float
    """Of the same weights on episodes that nothing was chosen or stopped by."""
    env_steps: int
    seconds: float
    reached: bool
    """Whether `score` is the one expected, in time."""
    evaluating: float | None = None
    """Share of the time that evaluation, the test and the film took; older outcomes lack it."""


def addresses() -> list[str]:
    """Every variant that states a score; games, which take hours together, only when named."""
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
    from spotter.training.run import train

    resolved = resolve(address, {"seed": seed})
    assert resolved.expect is not None
    with TemporaryDirectory() as folder:
        result = train(resolved.config, new_run=partial(_new_run, resolved, Path(folder)))
        assert result.score is not None and result.run is not None
        evaluating = evaluating_share(result.run)
    in_time = result.env_steps <= resolved.expect.env_steps * _LAST_UPDATE
    return Outcome(
        address=address,
        seed=seed,
        machine=machine(),
        measured=str(date.today()),
        score=result.score,
        fresh=fresh_score(result),
        env_steps=result.env_steps,
        seconds=round(result.seconds, 1),
        reached=result.score >= resolved.expect.score and in_time,
        evaluating=round(evaluating, 3),
    )


def _new_run(resolved: Resolved, home: Path) -> Run:
    return Run.create(resolved.config, resolved.address, home=home)


def evaluating_share(run: Run) -> float:
    """Of a run's time: evaluations, confirmations, the test, and the film made after the end."""
    events = list(run.events())
    over = next(event["time"] for event in events if event["event"] == "end")
    times = run.info()["created"], over, events[-1]["time"]
    began, ended, closed = map(datetime.fromisoformat, times)
    looked_s = sum(row.get("time/eval_s", 0.0) for row in run.metrics())
    looked_s += (closed - ended).total_seconds()
    return float(looked_s / (closed - began).total_seconds())


def fresh_score(result: "Result") -> float:
    """A run stops when evaluation and test are good enough, so both are a little lucky."""
    from spotter.training.evaluate import Evaluator

    config = result.config
    episodes = max(_FRESH_EPISODES, config.eval.most_episodes)
    changes = {
        "seed": config.seed + _FRESH_SEEDS,
        "eval": {"episodes": episodes, "env_steps": None},
    }
    with Evaluator(validate(merge(config.as_data(), changes))) as evaluator:
        return evaluator.run(result.policy.network, result.env_steps, "test").score


def machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "gymnasium", "numpy"))
    python = f"Python {platform.python_version()}"
    return f"{cores()} cores, {platform.system()} {platform.machine()}, {python}, {versions}"


def train_all(
    tasks: Sequence[tuple[str, int]], jobs: int | None, out: Path | None, known: Outcomes
) -> tuple[Outcomes, list[tuple[str, int]]]:
    """In parallel, the longest first, so that none is left alone at the end; and what failed."""
    tasks = sorted(tasks, key=lambda task: -_guess_s(task[0], known))
    outcomes: Outcomes = {}
    failed: list[tuple[str, int]] = []
    with ProcessPoolExecutor(jobs or cores(), mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(run, *task): task for task in tasks}
        for done in as_completed(futures):
            if error := done.exception():  # hours of other trainings shall not be lost
                print(*futures[done], repr(error), file=sys.stderr, flush=True)
                failed.append(futures[done])
                continue
            outcome = done.result()
            outcomes.setdefault(outcome.address, []).append(outcome)
            print(outcome, file=sys.stderr, flush=True)
            if out:
                save(out, outcomes)
    return dict(sorted(outcomes.items())), failed


def _guess_s(address: str, known: Outcomes) -> float:
    expect = resolve(address).expect
    assert expect is not None
    before = [outcome.seconds for outcome in known.get(address, ())]
    return max(before, default=expect.env_steps / _STEPS_PER_S)


def save(path: Path, outcomes: Outcomes) -> None:
    groups = {
        address: [asdict(outcome) for outcome in sorted(group, key=lambda o: (o.machine, o.seed))]
        for address, group in outcomes.items()
    }
    write_json(path, groups)


def load(path: Path) -> Outcomes:
    if not path.exists():
        return {}
    groups = read_json(path)
    return {address: [Outcome(**each) for each in group] for address, group in groups.items()}


def merged(kept: Outcomes, new: Outcomes) -> Outcomes:
    """By machine; recipes that are gone are left out."""
    found: Outcomes = {}
    for address in addresses():
        ours = new.get(address, [])
        machines = {outcome.machine for outcome in ours}
        group = [outcome for outcome in kept.get(address, []) if outcome.machine not in machines]
        if group + ours:
            found[address] = group + ours
    return found


def outside(stated: Outcomes, new: Outcomes) -> Iterable[str]:
    """Which new outcomes the page does not cover."""
    for address, group in new.items():
        for name in ("score", "env_steps"):
            seen = [getattr(outcome, name) for outcome in stated.get(address, ())]
            for outcome in group if seen else ():
                value = getattr(outcome, name)
                if not min(seen) <= value <= max(seen):
                    yield (
                        f"{address}, seed {outcome.seed}: {name} {value:g} is outside of "
                        f"{min(seen):g} to {max(seen):g}"
                    )


# --- the page ------------------------------------------------------------------------------------


def row(address: str, outcomes: Sequence[Outcome]) -> str:
    expect = resolve(address).expect
    assert expect is not None
    best = optimum(address)
    scores = [outcome.score for outcome in outcomes]
    cells = [
        address,
        f"{expect.score:g} in {expect.env_steps:,}",
        f"{sum(outcome.reached for outcome in outcomes)} of {len(outcomes)}",
        _span(scores, ".2f"),
        f"{statistics.fmean(scores):.2f}",
        _span([outcome.fresh for outcome in outcomes], ".2f"),
        "" if best is None else f"{best:.2f}",
        _span([outcome.env_steps for outcome in outcomes], ","),
        _span([outcome.seconds for outcome in outcomes], ".0f"),
        _evaluating(outcomes),
        verdict(address, outcomes),
    ]
    return f"| {' | '.join(cells)} |"


def _span(values: Sequence[float], form: str) -> str:
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def _evaluating(outcomes: Sequence[Outcome]) -> str:
    shares = [each.evaluating for each in outcomes if each.evaluating is not None]
    return f"{statistics.fmean(shares):.0%}" if shares else ""


def verdict(address: str, outcomes: Sequence[Outcome]) -> str:
    """What may be said about a recipe: every seed counts, and so do fresh episodes."""
    expect = resolve(address).expect
    assert expect is not None
    missed = sorted({outcome.seed for outcome in outcomes if not outcome.reached})
    if missed:
        return f"missed by seed {', '.join(map(str, missed))}"
    below = sum(outcome.fresh < expect.score for outcome in outcomes)
    return f"holds; {below} below it on fresh episodes" if below else "holds"


def optimum(address: str) -> float | None:
    """What value iteration says, for environments that publish their transition table."""
    env = resolve(address).config.env
    if env.family != "toy_text":
        return None
    from spotter.envs.families.toy_text import optimum as solve

    return solve(env)


def table(outcomes: Outcomes) -> str:
    head = (
        "| recipe | expected score, env steps | reached by | test score | mean | fresh episodes "
        "| optimum | env steps | seconds | evaluating | verdict |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|"
    )
    return "\n".join([head, *(row(address, outcomes[address]) for address in outcomes)])


def report(outcomes: Outcomes) -> str:
    return f"{START}\n{_machines(outcomes)}\n\n{table(outcomes)}\n{END}"


def _machines(outcomes: Outcomes) -> str:
    """What was measured, when, by whom and with which seeds."""
    lines = []
    everything = [outcome for group in outcomes.values() for outcome in group]
    for name in sorted({outcome.machine for outcome in everything}):
        own = [outcome for outcome in everything if outcome.machine == name]
        seeds = sorted({outcome.seed for outcome in own})
        count = len({outcome.address for outcome in own})
        lines.append(
            f"- {name}: {count} of the recipes, seeds {', '.join(map(str, seeds))}; "
            f"{max(outcome.measured for outcome in own)}"
        )
    return "\n".join(lines)


def write(path: Path, text: str) -> None:
    """Replace the part of a page between the markers."""
    page = path.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    path.write_text(before + text + after, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("address", nargs="*", help="recipes to train; default: all")
    parser.add_argument("--seeds", type=int, nargs="+", help="default: 11, 12, … as many as stated")
    parser.add_argument("--jobs", type=int, help="trainings at a time; default: one per core")
    parser.add_argument("--out", type=Path, help="file for outcomes, written after each training")
    parser.add_argument("--add", type=Path, nargs="+", help="train nothing: take these outcomes")
    parser.add_argument("--write", type=Path, help="page whose results table to replace")
    args = parser.parse_args()

    stated = load((args.write or _PAGE).with_suffix(".json"))
    failed: list[tuple[str, int]] = []
    if args.add:
        outcomes = load(args.add[0])
        for path in args.add[1:]:
            outcomes = merged(outcomes, load(path))
    else:
        tasks: list[tuple[str, int]] = []
        for address in args.address or addresses():
            expect = resolve(address).expect
            if expect is None:
                parser.error(f"{address} states no score: it has no `expect` block")
            seeds = args.seeds or range(_FIRST_SEED, _FIRST_SEED + expect.seeds)
            tasks += [(address, seed) for seed in seeds]
        outcomes, failed = train_all(tasks, args.jobs, args.out, stated)
    print(table(outcomes))
    for line in outside(stated, outcomes):
        print(line)
    if args.write:
        kept = merged(stated, outcomes)
        save(args.write.with_suffix(".json"), kept)
        write(args.write, report(kept))
    return 0 if not failed and all(o.reached for group in outcomes.values() for o in group) else 1


if __name__ == "__main__":
    sys.exit(main())
