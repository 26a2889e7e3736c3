"""What an agent may name. A setting that imports code or opens files needs the person's trust.

Checked on the text of a request, before the config is resolved: resolving imports plug-ins.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from spotter import plugins
from spotter.config import Resolved, RunConfig, recipes, tree
from spotter.config.foreign import (
    OPENS_FILES,
    check_id,
    check_names,
    is_recipe,
    may_name_file,
    texts,
)
from spotter.config.overrides import parse, written
from spotter.launch.checks import checked, checked_resume
from spotter.rundir.run import Run
from spotter.schedules import Schedule
from spotter.types import UserError

_TRUST: Final = "the person can allow it by starting `spotter mcp` with --trust"
_MAY_HOLD_SLASHES: Final = (("env", "id"), ("plateau", "monitor"))
_PACKAGE: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
MOST_EPISODES: Final = 1000
"""In one evaluation, of a training or asked for."""
_MOST: Final = {
    "env.count": 4096,
    "env.workers": 64,
    "eval.episodes": MOST_EPISODES,
    "algo.epochs": 1000,
    "algo.episodes": 1000,
    "threads": 256,
}
"""Beyond these one update or evaluation could outgrow the machine or the budget of minutes."""
_MOST_IN_UPDATE: Final = 1 << 20
"""Env steps kept in memory at once: 4 GB of observations of a thousand numbers each."""
_MOST_OVERRIDES: Final = 100
_LONGEST_OVERRIDE: Final = 500


def resolved(address: str, overrides: Sequence[str], trust: bool) -> Resolved:
    """What a request stands for; refused if it could reach beyond the recipes."""
    if not trust:
        _check_address(address.strip())
        check_overrides(overrides)
    found = checked(address, overrides)
    _check_sizes(found.config)
    return found


def resumed(run: Run, overrides: Sequence[str], trust: bool) -> RunConfig:
    """The config a run would resume with; refused like one of a new run."""
    check_run(run, trust)
    if not trust:
        check_overrides(overrides)
    config = checked_resume(run.settings(), overrides)
    _check_sizes(config)
    return config


def update_steps(config: RunConfig) -> int:
    """Env steps of one update, which is never cut short; 1 where episodes decide."""
    return config.env.count * int(config.algo.own("steps", 1))


def check_overrides(overrides: Sequence[str]) -> None:
    """Refuse settings that name code or files."""
    if len(overrides) > _MOST_OVERRIDES or any(len(o) > _LONGEST_OVERRIDE for o in overrides):
        raise UserError(
            f"at most {_MOST_OVERRIDES} overrides of {_LONGEST_OVERRIDE} characters each"
        )
    _check_settings(written(parse(overrides)))


def check_run(run: Run, trust: bool, address: str = "") -> None:
    """A run may come from a stranger: to play it is to import and open what its config names.

    `trust` is about requests and about runs that were trained here; never about foreign ones.
    """
    settings = run.settings()
    run.check_trust(settings)
    if not trust:
        _check_settings(settings)
        if address:
            _check_address(address)


def check_readable(run: Run, trust: bool, address: str = "") -> None:
    """The same where a config is read and nothing is played: reading imports, but opens nothing."""
    settings = run.settings()
    run.check_trust(settings, played=False)
    if not trust:
        check_names(settings, _TRUST)
        if address:
            _check_address(address)


def _check_settings(settings: Mapping[str, object]) -> None:
    check_names(settings, _TRUST)
    for place, text in texts(settings):
        _check_text(place, text)


def _check_address(address: str) -> None:
    """`package:EnvId` and `EnvId:module` import what they name."""
    name, colon, variant = address.partition(":")
    is_module = "." in variant or plugins.exists("algos", variant)
    if name in recipes.files():
        if is_module and not is_recipe(address):  # the recipe with an algorithm of any package
            raise UserError(f"{plugins.unknown('algos', variant)}; {_TRUST}")
        return
    if not colon:
        check_id("address", name, _TRUST)
        return
    is_algo = variant in plugins.names("algos")
    try:
        checked(name)  # says what is near if there is no such environment
    except UserError:
        if is_algo or not _PACKAGE.fullmatch(name):
            raise
        near = plugins.nearest(name, recipes.files())
        hint = f"; or did you mean '{near}'?" if near else ""
        raise UserError(
            f"{address[:80]!r} would import code, a package of the name {name[:80]!r}; "
            f"{_TRUST}{hint}"
        ) from None
    if not is_algo:
        remedy = f"; {_TRUST}" if is_module else ""
        raise UserError(f"{plugins.unknown('algos', variant)}{remedy}")


def _check_text(path: tree.Path, text: str) -> None:
    where = tree.dotted(path)
    if path[:2] in OPENS_FILES and text:
        raise UserError(f"{where} opens files; {_TRUST}")
    if path[:1] == ("launch",) and path[1:] not in ((), ("name",)):
        raise UserError(f"{where} may hold commands; {_TRUST}")
    if may_name_file(path, text):
        raise UserError(f"{where}: {text[:80]!r} may name a file or code; {_TRUST}")
    if path not in _MAY_HOLD_SLASHES and re.search(r"[/\\~\x00]|\.\.", text):
        raise UserError(f"{where}: {text[:80]!r} looks like a path; {_TRUST}")


def _check_sizes(config: RunConfig) -> None:
    data = config.as_data()
    for name, most in _MOST.items():
        value = _largest(tree.value_at(data, tuple(name.split("."))))
        if isinstance(value, int | float) and value > most:
            raise UserError(f"{name}={value:g} is more than the {most} allowed from here")
    if (steps := update_steps(config)) > _MOST_IN_UPDATE:
        raise UserError(
            f"env.count × algo.steps is {steps:,} env steps in one update, more than the "
            f"{_MOST_IN_UPDATE:,} allowed from here"
        )
    widths = config.policy.hidden or ()
    if len(widths) > 16 or any(width > 8192 for width in widths):
        raise UserError("policy.hidden: at most 16 layers of 8,192 units from here")


def _largest(value: object) -> object:
    """A schedule counts with its largest value."""
    return max(Schedule.model_validate(value).values()) if isinstance(value, Mapping) else value
