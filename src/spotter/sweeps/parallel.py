"""`spotter.train(…, seeds=…, jobs=2)`: several runs of a group at once, each in its own process.

Each is a `spotter train` command, so the environment needs a name that another process can import;
results are read from the run folders.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from spotter.config.dump import flow
from spotter.config.overrides import Override, parse
from spotter.envs.families import python
from spotter.launch.dispatch import Dispatcher
from spotter.launch.group import GroupTraining, Member
from spotter.rundir import checkpoints, identity
from spotter.rundir.run import Run
from spotter.sweeps.result import GroupResult
from spotter.sweeps.train_group import follow
from spotter.training.checkpoint import find_in, read
from spotter.training.predict import TrainedPolicy
from spotter.training.resume import Fork
from spotter.training.run import Result
from spotter.training.selection import read_candidate
from spotter.types import UserError


@dataclass(frozen=True)
class Order:
    """What is trained with every seed, and how many at once."""

    address: str
    edits: Sequence[Override]
    origin: Fork | None
    jobs: int
    why: str = ""
    quiet: bool = False


def train(name: str, seeds: Sequence[int], order: Order) -> GroupResult:
    """A new run per seed; a stop is passed on to all, and their results are what was saved."""
    _refuse_unnamed(order)
    given = [order.address, *words(order.edits), *(order.origin.words() if order.origin else [])]
    # as multiprocessing does: what this process can import, its children can
    around = {"PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)}
    dispatcher = Dispatcher(identity.home(), around)
    training = GroupTraining(
        name, given, seeds, order.jobs, order.why, again=True, dispatcher=dispatcher
    )
    follow(training, order.quiet)
    for member in training.members:
        if member.state == "failed":
            raise UserError(_failure(member, name))
    runs = [Run(identity.home() / member.run) for member in training.members if member.run]
    return GroupResult(name, tuple(_result(run) for run in runs if _is_saved(run)))


def words(edits: Sequence[Override]) -> list[str]:
    """Settings as the command line takes them."""
    return [f"{'.'.join(path)}={flow(_plain(value))}" for path, value in parse(edits)]


def _plain(value: object) -> object:
    """Numbers of NumPy and models of ours as what YAML knows."""
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(by_alias=True, exclude_unset=True))
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.item() if hasattr(value, "item") else value


def _refuse_unnamed(order: Order) -> None:
    module = order.address.partition(":")[0]
    if module == python.MAIN or not _is_known_elsewhere(order.address):
        raise UserError(
            f"jobs={order.jobs} trains in other processes, which cannot make {order.address}: "
            "define it in a module of its own, or leave out jobs"
        )


def _is_known_elsewhere(address: str) -> bool:
    """Also true of what is no Python object: the lookup reports whether it exists."""
    return not python.knows(address) or python.is_importable(address)


def _failure(member: Member, name: str) -> str:
    hint = "" if member.run else "; with jobs, the environment is imported by other processes"
    return f"seed {member.seed} failed: {member.problem} (group {name}){hint}"


def _is_saved(run: Run) -> bool:
    return bool(checkpoints.read(run.folder, []))


def _result(run: Run) -> Result:
    info, config, step = run.info(), run.config(), find_in(run, "")
    return Result(
        config=config,
        run=run,
        policy=TrainedPolicy(
            read(step).policy(config.policy), config.env, config.eval.deterministic
        ),
        reason=info["reason"],
        test=read_candidate(step).test,
        env_steps=info["env_steps"],
        seconds=identity.seconds(info),
    )
