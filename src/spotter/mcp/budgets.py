"""What a run may spend, by the request, its config, the usual budget, or what is left."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spotter.config import RunConfig
from spotter.mcp import safe
from spotter.mcp.desk import Desk
from spotter.rundir import checkpoints, identity
from spotter.rundir.resume_check import lacks
from spotter.rundir.run import Run
from spotter.types import UserError

_USUAL_MINUTES: Final = 30.0
_LEAST_MINUTES: Final = 1.0
_GIVE: Final = {
    "budget.env_steps": "give `steps`: how many more",
    "budget.minutes": "give `minutes`: how many more",
}


@dataclass(frozen=True)
class Budget:
    """Of one run, from now on."""

    steps: int
    """That may be spent: one update at least, however few were asked for."""
    minutes: float
    minutes_from: str
    until_steps: int = 0
    """What the config shall say, where that is not the same: a resumed run counts from 0."""
    until_minutes: float = 0.0

    @property
    def pair(self) -> tuple[int, float]:
        return self.steps, self.minutes

    @property
    def overrides(self) -> list[str]:
        steps, minutes = self.until_steps or self.steps, self.until_minutes or self.minutes
        return [f"budget.env_steps={steps}", f"budget.minutes={minutes:g}"]


def begun(
    desk: Desk, address: str, overrides: Sequence[str], steps: int | None, minutes: float | None
) -> Budget:
    """Of a new run; checked with the rest of the config, whose own it is where none is given."""
    given = [f"budget.env_steps={steps}"] if steps else []
    config = safe.resolved(address, [*overrides, *given], desk.terms.trust).config
    if config.budget.env_steps is None:
        raise UserError("this config has no budget of env steps; give `steps`")
    until = config.budget.env_steps
    spends = max(until, safe.update_steps(config))
    return Budget(spends, *_minutes(desk, minutes, config.budget.minutes), until)


def gone_on(
    desk: Desk, run: Run, config: RunConfig, steps: int | None, minutes: float | None
) -> tuple[Budget, int]:
    """Of a run that is resumed, and the env steps it begins at; what forbids it comes first."""
    if holder := run.trainer():
        raise UserError(f"run {run.id} is being trained by {holder}")
    saved = checkpoints.read(run.folder)
    if not saved:
        raise UserError(f"run {run.id} has no checkpoint to resume from")
    info, own, begun_at = run.info(), config.budget, saved[-1].env_steps
    trained = identity.seconds(info) / 60
    given = {"budget.env_steps": steps, "budget.minutes": minutes}
    for lack in lacks(info, config, begun_at, 60 * trained, is_done=True):
        if not given.get(lack.setting):
            remedy = _GIVE.get(lack.setting, f"to train on, override {lack.override}")
            raise UserError(f"run {run.id} {lack.reason}; {remedy}")
    until = begun_at + steps if steps else own.env_steps
    if not until:
        raise UserError("this run has no budget of env steps; give `steps`")
    left = own.minutes - trained if own.minutes else None
    more, source = _minutes(desk, minutes, left)
    spends = max(until - begun_at, safe.update_steps(config))
    return Budget(spends, more, source, until, trained + more), begun_at


def _minutes(desk: Desk, asked: float | None, of_config: float | None) -> tuple[float, str]:
    """The limit and its source; without one, no more than is left."""
    if asked:
        return asked, "request"
    if of_config:
        return of_config, "config"
    left = desk.terms.limits.most_minutes - desk.ledger.spent().minutes
    if left >= _USUAL_MINUTES:
        return _USUAL_MINUTES, "usual"
    # less than a minute is worth no run: more is requested than is left, which is refused
    return max(_LEAST_MINUTES, left), "what is left"
