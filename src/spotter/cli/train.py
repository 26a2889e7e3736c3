"""`spotter train`: one run, and a verdict in one line."""

import sys
from typing import Annotated, Final, Protocol

import typer

from spotter.cli.words import count, duration, number

EXAMPLES: Final = """\b
Examples:
  spotter train CartPole-v1:ppo
  spotter train CartPole-v1 --algo a2c --seed 7
  spotter train CartPole-v1:ppo algo.lr=3e-4 'algo.clip={start: 0.2, end: 0.05}'
  spotter train my_recipe.yaml:fast budget.env_steps=5e4 reward.clip=null
  spotter train my_package:MyEnv-v0
"""

Address = Annotated[
    str,
    typer.Argument(
        metavar="ADDRESS", help="EnvId:variant, EnvId, file.yaml:variant, or package:EnvId."
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE",
        help="Settings to change by dotted name; values are YAML, null switches off.",
    ),
]
Algo = Annotated[
    str | None,
    typer.Option(
        "--algo", metavar="NAME", help="The variant with this algorithm; or for a bare environment."
    ),
]


class Outcome(Protocol):
    """What a verdict needs to know of a `Result`."""

    @property
    def reason(self) -> str: ...
    @property
    def score(self) -> float | None: ...
    @property
    def threshold(self) -> float | None: ...
    @property
    def solved(self) -> bool: ...
    @property
    def env_steps(self) -> int: ...
    @property
    def seconds(self) -> float: ...


def run(
    address: Address,
    overrides: Overrides = None,
    algo: Algo = None,
    seed: Annotated[
        str | None, typer.Option("--seed", metavar="N", help="The same as seed=N.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only the verdict at the end.")] = False,
    no_save: Annotated[bool, typer.Option("--no-save", help="Leave no run folder.")] = False,
) -> None:
    """Train until solved, out of budget, or interrupted."""
    from spotter.config import resolve

    resolved = resolve(address, _with_seed(overrides or [], seed), algo)

    from spotter.rundir.run import Run
    from spotter.sinks.console import Console
    from spotter.training import train

    def new_run() -> Run:
        return Run.create(resolved.config, resolved.address, sys.argv)

    result = train(resolved.config, () if quiet else (Console(),), None if no_save else new_run)
    typer.echo(verdict(resolved.address, result, resolved.config.eval.episodes))
    if result.run is not None:
        typer.echo(f"run {result.run.id} is in {result.run.folder}")
    if result.reason == "interrupted":
        sys.exit(130)


def _with_seed(overrides: list[str], seed: str | None) -> list[str]:
    if seed is None:
        return overrides
    if any(text.partition("=")[0].strip() == "seed" for text in overrides):
        from spotter.types import UserError

        raise UserError("the seed is given twice: write either --seed or seed=")
    return [*overrides, f"seed={seed}"]


def verdict(address: str, result: Outcome, episodes: int) -> str:
    """How it ended: solved or not, by which score, at what cost."""
    cost = f"{count(result.env_steps)} env steps, {duration(result.seconds)}"
    if result.score is None:
        return f"{address} {result.reason} after {cost}, before it was scored"
    score = f"score {_one_decimal(result.score)}"
    if result.threshold is None:
        judged = f"finished: {score}"
    elif result.solved:
        judged = f"solved: {score} ≥ {number(result.threshold)}"
    else:
        judged = f"not solved: {score} < {number(result.threshold)}"
    return (
        f"{address} {judged} over {episodes} held-out episodes, {cost} (stopped: {result.reason})"
    )


def _one_decimal(score: float) -> str:
    """Small scores, such as success rates, need more than one."""
    return f"{score:.1f}" if abs(score) >= 10 else f"{score:.3f}"
