"""How well `spotter doctor` names what is wrong: made failures, healthy runs, and cures.

python -m benchmarks.doctor [--home /tmp/doctor-runs] [--seeds 1 2] [--train] [--record] [--write]

Trains every kind of failure and the healthy runs (kept in `home`, so a second call only judges),
looks at each with the doctor, and trains again with the change it would try first. `--train` only
makes the runs; `--record` packs one run of each for tests/doctor; `--write` puts the table into
docs/howto/doctor.md. Rules are tuned on seeds 1 to 3, of which 1 and 2 are recorded; the table is
made of seeds 31 and 32, which no rule has seen.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.diagnose.doctor.recordings import FOLDER, pack

from spotter.diagnose.doctor.run import Diagnosis, diagnose
from spotter.rundir.run import Run

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "howto" / "doctor.md"
BEGIN: Final = "<!-- table: python -m benchmarks.doctor --seeds 31 32 --write -->"
END: Final = "<!-- end of table -->"
GAMES: Final = "tests.diagnose.doctor.games"
FEW: Final = "eval.episodes=10"


@dataclass(frozen=True)
class Kind:
    """A way to fail, and what it should be called."""

    name: str
    expected: tuple[str, ...]
    """Of two faults, both."""
    address: str
    overrides: tuple[str, ...]
    plays: bool = False
    """Only playing the environment shows it."""
    cure: bool = False
    """Whether to train again with the change the doctor tries first."""


def kind(
    expected: str, address: str, *overrides: str, name: str = "", plays: bool = False,
    cure: bool = False,
) -> Kind:  # fmt: skip
    faults = tuple(filter(None, expected.split(" + ")))
    return Kind(name or expected, faults, address, overrides, plays, cure)


def budget(steps: int) -> str:
    return f"budget.env_steps={steps}"


KINDS: Final = (
    kind("lr-too-high", "CartPole-v1", "algo.lr=0.3", "algo.clip=0.2", budget(40_000), cure=True),
    kind("lr-too-high", "Acrobot-v1", "algo.lr=0.05", FEW, budget(60_000), name="lr-too-high-2"),
    kind("lr-too-low", "CartPole-v1", "algo.lr=1e-6", budget(40_000), cure=True),
    kind("policy-starts-certain", "Acrobot-v1", "policy.policy_gain=100", FEW, budget(60_000)),
    kind("entropy-too-high", "CartPole-v1", "algo.entropy=20", budget(40_000), cure=True),
    kind(
        "dead-units", "CartPole-v1", "policy.activation=relu",
        "algo.lr={points: [[0, 0.3], [0.02, 0.3], [0.03, 1e-3], [1, 1e-3]]}", budget(40_000),
    ),
    kind("reward-too-large", "CartPole-v1", "reward.scale=10000", budget(40_000), cure=True),
    kind(
        "reward-too-large", "Pendulum-v1", "reward.normalize=false", "reward.scale=100", FEW,
        budget(61_440), name="reward-too-large-2",
    ),
    kind("reward-too-large", "CartPole-v1:a2c", "reward.scale=100", budget(60_000),
         name="reward-too-large-3"),
    kind("reward-too-small", "CartPole-v1:a2c", "reward.scale=1e-6", budget(60_000)),
    kind("gamma-too-low", "CartPole-v1", "algo.gamma=0.3", budget(40_000), cure=True),
    kind("gamma-too-low", "Acrobot-v1", "algo.gamma=0.0", FEW, budget(60_000),
         name="gamma-too-low-2"),
    kind("gamma-too-high", "Pendulum-v1", "algo.gamma=1.0", "algo.lambda=1.0", FEW, budget(61_440)),
    kind("batch-too-small", "CartPole-v1", "env.count=1", "algo.steps=4", "algo.minibatch=4",
         "algo.epochs=4", budget(4000)),
    kind("updates-too-few", "CartPole-v1", "algo.steps=1024", "algo.epochs=1",
         "algo.minibatch=8192", "algo.lr=3e-4", budget(60_000), cure=True),
    kind("epochs-too-many", "CartPole-v1", "algo.epochs=80", "algo.minibatch=32", "algo.lr=3e-3",
         "algo.clip=0.3", budget(15_000)),
    kind("clip-too-narrow", "CartPole-v1", "algo.clip=0.0005", budget(40_000), cure=True),
    kind("clip-too-wide", "Pendulum-v1", "algo.clip=100", "algo.lr=3e-3", FEW, budget(61_440)),
    kind("clip-too-wide", "FrozenLake-v1", "algo.clip=100", "eval.episodes=50", budget(60_000),
         name="clip-too-wide-2"),
    kind("entropy-collapse", f"{GAMES}:Trap-v0", "algo.lr=1e-3", budget(40_000)),
    kind("network-too-small", "CartPole-v1", "policy.hidden=[1]", budget(40_000), cure=True),
    kind("value-dominates", "CartPole-v1", "policy.shared=true", "algo.value_weight=1000",
         "reward.scale=10", budget(40_000)),
    kind("value-dominates", "Acrobot-v1", "policy.shared=true", "algo.value_weight=300", FEW,
         budget(60_000), name="value-dominates-2"),
    kind("observation-scale", f"{GAMES}:Loud-v0", budget(40_000), cure=True),
    kind("frozen-environment", f"{GAMES}:Frozen-v0", budget(20_000)),
    kind("actions-do-not-matter", f"{GAMES}:Deaf-v0", budget(40_000)),
    kind("copies-alike", f"{GAMES}:Twin-v0", budget(20_000), plays=True),
    kind("eval-below-train", f"{GAMES}:Alternate-v0", budget(40_000), "eval.every_steps=4000"),
    kind("reward-never-found", "MountainCar-v0:ppo_shaped", "reward.signals=[]", FEW,
         budget(60_000)),
    kind("reward-never-found", "CliffWalking-v1", "reward.signals=[]", "reward.clip=null",
         "reward.scale=1.0", "algo.entropy=0", budget(60_000), name="reward-never-found-2",
         cure=True),
    kind("time-limit-too-short", "CartPole-v1", "env.time_limit=25", "env.threshold=475",
         budget(30_000), cure=True),
    kind("unreachable-threshold", "CartPole-v1", "env.threshold=600", budget(80_000)),
    kind("threshold-too-low", "Acrobot-v1", "env.time_limit=30", "eval.stop_when_solved=false",
         FEW, budget(30_000)),
    kind("budget-too-small", "CartPole-v1:a2c", budget(8_000), cure=True),
    kind("reward-too-large + gamma-too-low", "LunarLander-v3:ppo", "algo.gamma=0.5",
         "reward.scale=100", FEW, budget(100_000), name="two-1", cure=True),
    kind("gamma-too-low + clip-too-narrow", "CartPole-v1", "algo.gamma=0.3", "algo.clip=0.0005",
         budget(40_000), name="two-2", cure=True),
    kind("reward-too-large + gamma-too-low", "CartPole-v1:a2c", "reward.scale=1000",
         "algo.gamma=0.3", budget(60_000), name="two-3"),
    kind("recipe-overridden", "Acrobot-v1:ppo", "algo.clip=0.0001", "algo.epochs=1", "env.count=1",
         "algo.minibatch=128", FEW, budget(60_000), cure=True),
    kind("not-normalised", "BipedalWalker-v3", "eval.episodes=5", budget(100_000)),
    kind("not-finite", "CartPole-v1", "algo.lr=1e30", budget(20_000)),
    kind("crashed", f"{GAMES}:Falling-v0", "env.restarts=0", budget(40_000)),
    kind("silent", "CartPole-v1", "eval.stop_when_solved=false", budget(1_000_000)),
)  # fmt: skip
HEALTHY: Final = (
    kind("", "CartPole-v1", name="cartpole"),
    kind("", "CartPole-v1:ppo_centre", name="cartpole-centre"),
    kind("", "CartPole-v1:a2c", name="cartpole-a2c"),
    kind("", "CartPole-v1:reinforce", name="cartpole-reinforce"),
    kind("", "Acrobot-v1", "eval.episodes=20", name="acrobot"),
    kind("", "Bandit-v0", name="bandit"),
    kind("", "Bandit-v0:reinforce", name="bandit-reinforce"),
    kind("", "Pendulum-v1", "eval.episodes=20", name="pendulum"),
    kind("", "CliffWalking-v1", name="cliff"),
    kind("", "MountainCar-v0:ppo_shaped", "eval.episodes=30", name="mountain-car"),
)


def trained(kind: Kind, seed: int, home: Path, overrides: Sequence[str] = ()) -> Run:
    """The run in `home`; trained now if it is not there yet."""
    place = home / f"{kind.name}-{seed}"
    found = sorted(place.glob("2*/run.json"))
    if not found:
        words = [kind.address, *kind.overrides, *overrides, "video.when=null", f"seed={seed}"]
        command = [sys.executable, "-m", "spotter", "train", *words, "--quiet"]
        around = {**os.environ, "SPOTTER_RUNS": str(place), "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            command, cwd=ROOT, env=around, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if kind.name == "silent":
            kill_in_the_middle(process, place)
        process.wait()
        found = sorted(place.glob("2*/run.json"))
    return Run(found[0].parent)


def kill_in_the_middle(process: "subprocess.Popen[bytes]", place: Path) -> None:
    """As a machine does that runs out of memory."""
    while process.poll() is None:
        rows = [path.read_bytes().count(b"\n") for path in place.glob("2*/metrics.jsonl")]
        if rows and rows[0] > 40:
            process.kill()
        time.sleep(0.2)


@dataclass(frozen=True)
class Judged:
    kind: Kind
    seed: int
    run: Run
    diagnosis: Diagnosis

    @property
    def told(self) -> list[str]:
        """Ids of what is not a mere hint, the first cause first."""
        return [one.id for one in self.diagnosis.problems if one.level != "info"]

    @property
    def counts(self) -> bool:
        """Whether it failed as it was meant to; some are solved in spite of everything."""
        return self.kind.name == "threshold-too-low" or not self.run.info()["solved"]

    @property
    def is_first(self) -> bool:
        return self.told[:1] != [] and self.told[0] in self.kind.expected

    @property
    def is_among_three(self) -> bool:
        return set(self.kind.expected) <= set(self.told[:3])


def judged(kind: Kind, seed: int, home: Path) -> Judged:
    run = trained(kind, seed, home)
    found = Judged(kind, seed, run, diagnose(run, environment=kind.plays))
    print(f"{kind.name} {seed}: {', '.join(found.told) or 'healthy'}", flush=True)
    return found


@dataclass(frozen=True)
class Cure:
    kind: Kind
    change: str
    before: float
    after: float
    solved: bool


def cured(one: Judged, home: Path) -> Cure | None:
    """The same again, with the first change."""
    change = one.diagnosis.change
    if not change:
        return None
    again = trained(one.kind, one.seed, home / "cured", change)
    info = again.info()
    before = one.run.info()["score"]
    return Cure(one.kind, " ".join(change), before, info["score"], info["solved"])


# --- the table -----------------------------------------------------------------------------------


def table(failed: list[Judged], healthy: list[Judged], cures: list[Cure]) -> str:
    lines = [
        "| made failure | expected | named first | among the first three |",
        "|---|---|---|---|",
    ]
    for name in dict.fromkeys(one.kind.name for one in failed):
        some = [one for one in failed if one.kind.name == name and one.counts]
        kind = next(one.kind for one in failed if one.kind.name == name)
        what = " ".join((kind.address, *kind.overrides)).replace("|", "\\|")
        lines.append(f"| `{what}` | {' and '.join(kind.expected)} | {_shares(some)} |")
    real = [one for one in failed if one.counts]
    lines.append(f"| **all** | | {_shares(real)} |")
    if len(real) < len(failed):
        names = ", ".join(f"{one.kind.name} {one.seed}" for one in failed if not one.counts)
        lines += ["", f"Solved in spite of it, and not counted: {names}."]
    false = [f"{one.kind.name} {one.seed}: {', '.join(one.told)}" for one in healthy if one.told]
    recipes = ", ".join(dict.fromkeys(one.kind.address for one in healthy))
    lines += [
        "",
        f"**Healthy runs**: {len(healthy)} ({recipes}). Critical problems or warnings reported on "
        f"them: {len(false)}{': ' + '; '.join(false) if false else ''}.",
        "",
        "| trained again with the first change | test score before | after | solved |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {cure.kind.name}: `{cure.change}` | {cure.before:.4g} | {cure.after:.4g} | "
        f"{'yes' if cure.solved else 'no'} |"
        for cure in cures
    ]
    return "\n".join(lines)


def _shares(some: list[Judged]) -> str:
    first = sum(one.is_first for one in some)
    three = sum(one.is_among_three for one in some)
    return f"{first}/{len(some)} | {three}/{len(some)}"


def write(text: str) -> None:
    """Between the markers of the page."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def record(runs: Sequence[Judged]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for one in runs:
        state = "failed" if one.kind.expected else "healthy"
        (FOLDER / f"{state}-{one.kind.name}.json.gz").write_bytes(pack(one.run))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, default=Path("/tmp/doctor-runs"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", default=[], help="names of kinds")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--train", action="store_true", help="make the runs, judge nothing")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    chosen = [one for one in KINDS if not options.only or one.name in options.only]
    well = [one for one in HEALTHY if not options.only or one.name in options.only]
    with ThreadPoolExecutor(options.workers) as pool:
        if options.train:
            each = [(one, seed) for seed in options.seeds for one in (*chosen, *well)]
            list(pool.map(lambda made: trained(made[0], made[1], options.home), each))
            return
        jobs = [pool.submit(judged, one, seed, options.home)
                for seed in options.seeds for one in (*chosen, *well)]  # fmt: skip
        found = [job.result() for job in jobs]
        tries = [one for one in found if one.kind.cure and one.seed == options.seeds[0]]
        cures = [cure for cure in pool.map(lambda one: cured(one, options.home), tries) if cure]
    failed = [one for one in found if one.kind.expected]
    text = table(failed, [one for one in found if not one.kind.expected], cures)
    print(text)
    if options.write:
        write(text)
    if options.record:
        record([one for one in found if one.seed == options.seeds[0]])


if __name__ == "__main__":
    main()
