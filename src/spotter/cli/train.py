"""`spotter train`: one run, and a verdict in one line."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spotter.cli import completion, launching, pipe
from spotter.cli.launching import with_launch
from spotter.cli.options import whole
from spotter.cli.trust import Trust, trusting
from spotter.sweeps import train_group
from spotter.sweeps.train_group import GroupPlan
from spotter.system.interrupts import EXIT_CODES, Interrupted, exit_at_once
from spotter.text.echo import echo
from spotter.text.numbers import count, duration, number, plural, score
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.sweeps.plan import Plan
    from spotter.training.run import Result

EXAMPLES: Final = """\
  spotter train CartPole-v1:ppo
  spotter train CartPole-v1 --algo a2c --seed 7
  spotter train CartPole-v1:ppo 'algo.clip={start: 0.2, end: 0.05}'
  spotter train my_recipe.yaml:fast budget.env_steps=5e4 reward.clip=null
  spotter train my_package:MyEnv-v0
  spotter train CartPole-v1:ppo --require-solved && echo solved
  spotter train CartPole-v1:ppo --seeds 1-5 --jobs 2    a group of five runs
  spotter train CartPole-v1:ppo --launch local   in the background; or slurm
  spotter train --resume @last                   continue where it stopped
  spotter train --resume @last algo.lr=1e-4      … with another setting
  spotter train LunarLander-v3:ppo --from @best-of:LunarLander-v3
  spotter train ALE/Pitfall-v5 --demo explored/ALE_Pitfall-v5-1    see spotter explore
"""

_NOTHING: Final = "say what to train, e.g. spotter train CartPole-v1:ppo (see spotter list)"
_ADDRESS: Final = typer.Argument(
    metavar="ADDRESS",
    help="EnvId:variant, EnvId, EnvId:defaults (no recipe), file.yaml:variant, package:EnvId.",
    autocompletion=completion.addresses,
)
Address = Annotated[str, _ADDRESS]
OptionalAddress = Annotated[str | None, _ADDRESS]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE",
        help="Settings to change by dotted name; values are YAML, null switches off.",
        autocompletion=completion.settings,
    ),
]
Algo = Annotated[
    str | None,
    typer.Option(
        "--algo",
        metavar="NAME",
        help="The variant with this algorithm; or for a bare environment.",
        autocompletion=completion.algorithms,
    ),
]

Resume = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="RUN",
        help="Continue a run where it stopped.",
        autocompletion=completion.runs,
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="RUN",
        help="Start with the weights of another run.",
        autocompletion=completion.runs,
    ),
]

Seed = Annotated[str | None, typer.Option("--seed", metavar="N", help="The same as seed=N.")]
Seeds = Annotated[
    str | None,
    typer.Option("--seeds", metavar="LIST", help="A run for each: 1-5 or 1,4,9. One verdict."),
]
Jobs = Annotated[
    str | None, typer.Option("--jobs", metavar="N", help="With --seeds: N runs at once.")
]
GroupName = Annotated[
    str, typer.Option("--group", metavar="NAME", help="The name of the group of runs.")
]
Why = Annotated[
    str, typer.Option("--why", metavar="TEXT", help="Why you run this; kept with the run.")
]
RequireSolved = Annotated[
    bool, typer.Option("--require-solved", help="Exit 1 if the run ends unsolved.")
]
LaunchName = Annotated[
    str | None,
    typer.Option(
        "--launch",
        metavar="NAME",
        help="Start it as a job and return: local (in the background) or slurm.",
        autocompletion=completion.launchers,
    ),
]
FreshOptimizer = Annotated[
    bool, typer.Option("--fresh-optimizer", help="With --from: weights only.")
]
Demo = Annotated[
    Path | None,
    typer.Option(
        "--demo", metavar="FOLDER", help="Start from the best way that `spotter explore` found."
    ),
]
Verify = Annotated[
    bool,
    typer.Option("--verify", help="Train nothing: prove that a kill and a resume change nothing."),
]


def run(
    address: OptionalAddress = None,
    overrides: Overrides = None,
    algo: Algo = None,
    seed: Seed = None,
    seeds: Seeds = None,
    jobs: Jobs = None,
    group: GroupName = "",
    resume: Resume = None,
    source: From = None,
    fresh_optimizer: FreshOptimizer = False,
    demo: Demo = None,
    verify: Verify = False,
    why: Why = "",
    require_solved: RequireSolved = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only the verdict at the end.")] = False,
    no_save: Annotated[bool, typer.Option("--no-save", help="Leave no run folder.")] = False,
    trust: Trust = False,
    launch: LaunchName = None,
) -> None:
    """Train until solved, out of budget, or interrupted.

    Ctrl-C, SIGTERM and SIGHUP finish the update, save, and exit with 130, 143 and 129.
    """
    pipe.go_on()
    with exit_at_once():  # nothing has begun: no need to wait until everything is loaded
        settings = with_launch(_with_seed(overrides or [], seed), launch)
        if resume is not None:
            given = {"--algo": algo, "--from": source, "--no-save": no_save, "--seed": seed}
            several = {"--seeds": seeds, "--jobs": jobs, "--group": group, "--demo": demo}
            _refuse_with_resume({**given, **several, "--fresh-optimizer": fresh_optimizer})
            with trusting(trust):
                settings = [address, *settings] if address else settings
                plan = _resumed(resume, settings, why)
        elif address is None:
            raise UserError(_NOTHING)
        else:
            _refuse_trust(trust)
            settings = _with_demo(demo, address, settings, algo)
            plan = _fresh(address, settings, algo, source, fresh_optimizer, why, group)
        if require_solved:
            _check_solvable(plan, verify)
        here = {"--verify": verify, "--no-save": no_save}
        _check_seeds(seeds, jobs, settings, here)
        if launcher := plan.launcher:
            here |= {"--require-solved": require_solved}
            launching.refuse(launcher, {**here, "--jobs": jobs})
        elif seeds is None and not verify:
            _train(plan, quiet, no_save, require_solved)
    words = _words(plan, address, settings, algo)
    if seeds is not None:
        many = 1 if jobs is None else whole("--jobs", jobs)
        _train_group(GroupPlan(plan, words, seeds, many, group, why), quiet, require_solved)
    elif launcher:
        options = launching.written({"--group": group}, {"--quiet": quiet, "--trust": trust})
        launching.start(launcher, [*words, *options], why)
    elif verify:
        _verify(plan)


def _train_group(wanted: GroupPlan, quiet: bool, require_solved: bool) -> None:
    if launcher := wanted.plan.launcher:
        launching.start_group(launcher, wanted, quiet)
    else:
        train_group.train(wanted, quiet, require_solved)


def _words(
    plan: "Plan", address: str | None, settings: Sequence[str], algo: str | None
) -> list[str]:
    """Of another command line that trains the same."""
    if plan.resumed is not None:
        return ["--resume", str(plan.resumed.folder), *settings]
    assert address is not None
    start = plan.fork.words() if plan.fork else []
    return [address, *settings, *(["--algo", algo] if algo else []), *start]


def _fresh(
    address: str,
    overrides: list[str],
    algo: str | None,
    source: str | None,
    fresh_optimizer: bool,
    why: str,
    group: str,
) -> "Plan":
    from spotter.config import resolve

    if fresh_optimizer and source is None:
        raise UserError("--fresh-optimizer needs --from: without it every optimizer is fresh")
    resolved = resolve(address, overrides, algo)

    from spotter.rundir.group import check_name
    from spotter.sweeps.plan import Plan
    from spotter.training.resume import fork

    if group:
        check_name(group)
    origin = fork(source, fresh_optimizer) if source else None
    return Plan.of_new(resolved, origin, why, group)


def _resumed(selector: str, overrides: list[str], why: str) -> "Plan":
    for text in overrides:
        if "=" not in text:
            raise UserError(f"--resume continues a run and takes no address, but got '{text}'")

    from spotter.rundir.group import refuse_group
    from spotter.sweeps.plan import Plan
    from spotter.training.resume import resume

    refuse_group(selector)
    return Plan.of_resumed(resume(selector, overrides), why)


def _refuse_trust(trust: bool) -> None:
    if trust:
        raise UserError("--trust is about the run that --resume names; nothing else needs it")


def _refuse_with_resume(given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value:
            raise UserError(f"{option} does not go with --resume, which continues one run")


def _check_seeds(
    seeds: str | None, jobs: str | None, settings: list[str], given: Mapping[str, object]
) -> None:
    if seeds is None:
        if jobs is not None:
            raise UserError("--jobs needs --seeds: one run is one process")
        return
    if any(text.partition("=")[0].strip() == "seed" for text in settings):
        raise UserError("--seeds says which seeds: leave out --seed and seed=")
    for option, value in given.items():
        if value:
            raise UserError(f"{option} does not go with --seeds, which trains several runs")


def _check_solvable(plan: "Plan", verify: bool) -> None:
    if verify:
        raise UserError("--require-solved does not go with --verify, which trains nothing")

    from spotter.envs.base import threshold

    if threshold(plan.config.env) is None:
        raise UserError(
            f"--require-solved needs a score that counts as solved, and {plan.config.env.id} "
            "has none: add env.threshold=SCORE"
        )


def _train(plan: "Plan", quiet: bool, no_save: bool, require_solved: bool) -> None:
    try:
        result = plan.train(quiet, save=not no_save)
    except Interrupted as stop:
        print(f"spotter: {stop.request}", file=sys.stderr)
        sys.exit(EXIT_CODES[stop.request])
    if quiet or not sys.stdout.isatty():  # on a terminal, the box has said it all
        echo(verdict(plan.address, result))
    if quiet and result.run is not None:
        echo(f"run {result.run.id} is in {result.run.folder}")
    if result.reason in EXIT_CODES:
        sys.exit(EXIT_CODES[result.reason])
    if require_solved and not result.solved:
        sys.exit(1)


def _verify(plan: "Plan") -> None:
    from spotter.training.verify import verify

    proof = verify(plan.config, plan.origin)
    for line in proof.lines():
        echo(line)
    if not proof.holds:
        sys.exit(1)


def _with_seed(overrides: list[str], seed: str | None) -> list[str]:
    if seed is None:
        return overrides
    if any(text.partition("=")[0].strip() == "seed" for text in overrides):
        raise UserError("the seed is given twice: write either --seed or seed=")
    return [*overrides, f"seed={seed}"]


def _with_demo(
    folder: Path | None, address: str, settings: list[str], algo: str | None
) -> list[str]:
    """The best way of an archive, written out as settings; those that are given win."""
    if folder is None:
        return settings
    from spotter.config import resolve
    from spotter.explore.demo import of_archive

    others = [text for text in settings if not text.strip().startswith("env.demo")]
    found = of_archive(folder, resolve(address, others, algo).config.env.id)
    return [*(f"env.demo.{name}={value}" for name, value in found.items()), *settings]


def verdict(address: str, result: "Result") -> str:
    """How it ended: solved or not, by which score, at what cost."""
    cost = f"{count(result.env_steps)} env steps, {duration(result.seconds)}"
    if result.score is None:
        return f"{address} {result.reason} after {cost}, before it was scored"
    reached = f"score {score(result.score)}"
    if result.threshold is None:
        judged = f"finished: {reached}"
    elif result.solved:
        judged = f"solved: {reached} ≥ {number(result.threshold)}"
    else:
        judged = f"not solved: {reached} < {number(result.threshold)}"
    episodes = plural(result.episodes, "held-out episode")
    return f"{address} {judged} over {episodes}, {cost} (stopped: {result.reason})"
