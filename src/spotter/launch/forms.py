"""The forms to start, fork and resume runs, built from the config: settings, origins, meanings.

What comes back from the browser is an address and `key=value` texts. Both go through the strict
config before anything is started: a key that does not exist is refused with the nearest that does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from spotter.config import Resolved, RunConfig, tree
from spotter.config.dump import flow
from spotter.config.overrides import parse
from spotter.pages.report import reproduce
from spotter.rundir import checkpoints
from spotter.rundir.resume_check import lacks
from spotter.rundir.run import Run
from spotter.rundir.view import RunView
from spotter.types import UserError


@dataclass(frozen=True)
class Setting:
    """One line of the form."""

    name: str
    """Dotted, as on the command line."""
    value: str
    """As YAML, the way it is typed."""
    origin: str
    about: str
    choices: tuple[str, ...] = ()
    """Every value it may have, where these are few."""

    @property
    def section(self) -> str:
        head, dot, _ = self.name.partition(".")
        return head if dot else "run"


def overrides_of(text: str) -> list[str]:
    """`key=value` lines as they were typed; empty lines and `#` lines do not count."""
    lines = (line.strip() for line in text.splitlines())
    found = [line for line in lines if line and not line.startswith("#")]
    parse(found)  # a line that is no override is refused here, with its text
    return found


def settings(resolved: Resolved) -> list[Setting]:
    """Every setting of what would be trained, section by section."""
    data = resolved.config.as_data()
    found = []
    for name in tree.paths(RunConfig, data):
        path = tuple(name.split("."))
        field = _field(path, data)
        value = flow(tree.value_at(data, path))
        about = (field.description or "") if field else ""
        choices = _choices(field.annotation) if field else ()
        found.append(Setting(name, value, resolved.origin(path), about, choices))
    return sorted(found, key=lambda setting: setting.section != "run")  # sections stay in order


def _field(path: tuple[str, ...], data: Mapping[str, object]) -> FieldInfo | None:
    model = tree.model_at(RunConfig, path[:-1], data)
    if model is None:
        return None
    fields = {info.alias or name: info for name, info in model.model_fields.items()}
    return fields.get(path[-1])


def _choices(annotation: object) -> tuple[str, ...]:
    if annotation is bool:
        return ("true", "false")
    if get_origin(annotation) is Literal:
        return tuple(flow(word) for word in get_args(annotation))
    return ()


def again(run: Run) -> tuple[str, list[str]]:
    """Address and overrides that lead to a run's own config, to begin a fork with."""
    info = run.info()
    recipe = reproduce.recipe(info, run.settings(), changed=False)
    if recipe.is_python:
        return str(info["address"]), []
    return recipe.address, [f"{change.setting}={change.after}" for change in recipe.own]


@dataclass(frozen=True)
class Further:
    """What a run needs to be resumed, and why; both empty where it needs nothing."""

    overrides: list[str]
    reason: str


def further(run: Run) -> Further:
    """Settings without which `--resume` would refuse the run."""
    config, saved = run.config(), checkpoints.read(run.folder)
    if not saved:
        raise UserError(f"run {run.id} has no checkpoint to resume from")
    found = lacks(run.info(), config, saved[-1].env_steps, _elapsed_s(run))
    reasons = " and ".join(lack.reason for lack in found)
    reason = f"It {reasons}; the values below allow it to resume." if found else ""
    return Further([lack.override for lack in found], reason)


def _elapsed_s(run: Run) -> float:
    elapsed = RunView(run).last_row.get("time/elapsed_s")
    return float(elapsed) if isinstance(elapsed, int | float) else 0.0
