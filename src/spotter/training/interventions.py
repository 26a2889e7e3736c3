"""What the watcher may do, by consent in the config: change a setting, take a snapshot, stop.

Nothing here acts unless `alerts.actions` or `plateau` says so. Every change is a new value of a
schedulable setting, and is written down as an event.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from spotter.config import PlateauAction, RunConfig, validate
from spotter.config.overrides import edit
from spotter.diagnose.plateau import Plateau
from spotter.diagnose.rules import IDS, unknown_ids
from spotter.metrics.spec import Catalogue
from spotter.plugins import did_you_mean
from spotter.schedules import Schedule
from spotter.sinks.base import Row
from spotter.types import UserError

_LOWER_LR: Final = 0.5


@dataclass(frozen=True, slots=True)
class Action:
    """Something to do after a row."""

    kind: Literal["stop", "snapshot", "change"]
    why: str
    setting: str = ""
    value: Any = None
    """The new schedule as data."""


class Interventions:
    """Turns rows into actions."""

    def __init__(self, config: RunConfig, catalogue: Catalogue) -> None:
        self._actions = config.alerts.actions
        self._firing: frozenset[str] = frozenset()
        """Alerts of the row before: one acts when it rises, not while it lasts."""
        self._changed: dict[str, object] = {}
        self._plateau_config = config.plateau
        self._plateau: Plateau | None = None
        self._before: dict[int, object] = {}
        _check_ids("alerts.ignore", config.alerts.ignore)
        _check_ids("alerts.actions", config.alerts.actions)
        if config.plateau is not None:
            self._plateau = _plateau(config, catalogue)

    def after(self, row: Row, config: RunConfig) -> list[Action]:
        """What is to be done about this row."""
        before, self._firing = self._firing, frozenset(alert.id for alert in row.alerts)
        risen = sorted(self._firing - before)
        actions = [action for alert in risen for action in self._on_alert(alert, config)]
        return actions + self._on_plateau(row, config)

    def _on_alert(self, alert: str, config: RunConfig) -> list[Action]:
        action = self._actions.get(alert)
        if action is None:
            return []
        why = f"alert {alert}"
        if action == "lower_lr":
            return [self._change("algo.lr", lambda lr: lr * _LOWER_LR, config, why)]
        return [Action(action, why)]

    def _on_plateau(self, row: Row, config: RunConfig) -> list[Action]:
        plan = self._plateau_config
        if self._plateau is None or plan is None or plan.monitor not in row.metrics:
            return []
        change = self._plateau.see(row.metrics[plan.monitor], row.env_steps)
        if change is None:
            return []
        action = plan.actions[change.action]
        if change.kind == "revert":
            return self._revert(change.action, action)
        why = f"{plan.monitor} has not improved on {change.best:g}"
        self._before[change.action] = _schedule(config, action.setting).model_dump()
        return [self._change(action.setting, _operation(action), config, why)]

    def _revert(self, index: int, action: PlateauAction) -> list[Action]:
        if not action.revert_if_worse or index not in self._before:
            return []
        value = self._before.pop(index)
        self._changed[action.setting] = value
        return [Action("change", "the change did not help", action.setting, value)]

    def _change(
        self, setting: str, change: Callable[[float], float], config: RunConfig, why: str
    ) -> Action:
        value = _schedule(config, setting).changed(change).model_dump()
        self._changed[setting] = value
        return Action("change", why, setting, value)

    def state(self) -> dict[str, object]:
        return {
            "firing": sorted(self._firing),
            "changed": self._changed,
            "before": self._before,
            "plateau": self._plateau.state() if self._plateau else None,
            "monitor": self._plateau_config.monitor if self._plateau_config else None,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        # older checkpoints hold every alert that ever fired: quiet ones leave with the next row
        self._firing = frozenset(state.get("firing", state.get("done", ())))
        self._changed = dict(state["changed"])
        self._before = dict(state["before"])
        plan = self._plateau_config
        if self._plateau and plan and state["monitor"] == plan.monitor:
            self._plateau.restore(state["plateau"])

    def reapply(self, config: RunConfig, overridden: Collection[str]) -> RunConfig:
        """A resumed run's config with the changes made before; what the user now sets is final."""
        for setting, value in list(self._changed.items()):
            if any(_touches(name, setting) for name in overridden):
                self._forget(setting)
            else:
                config = changed(config, setting, value)
        return config

    def _forget(self, setting: str) -> None:
        del self._changed[setting]
        actions = self._plateau_config.actions if self._plateau_config else ()
        for index, action in enumerate(actions):
            if action.setting == setting:
                self._before.pop(index, None)


def _touches(name: str, setting: str) -> bool:
    """Whether a dotted name is the setting, a part of it, or a section it is in."""
    return f"{name}.".startswith(f"{setting}.") or f"{setting}.".startswith(f"{name}.")


def changed(config: RunConfig, setting: str, value: object) -> RunConfig:
    """The config with one setting replaced."""
    return validate(edit(config.as_data(), setting.split("."), value))


def _schedule(config: RunConfig, setting: str) -> Schedule:
    return dict(config.schedules())[setting]


def _operation(action: PlateauAction) -> Callable[[float], float]:
    def change(value: float) -> float:
        value = {
            "multiply": value * action.value,
            "add": value + action.value,
            "set": action.value,
        }[action.operation]
        value = value if action.low is None else max(action.low, value)
        return value if action.high is None else min(action.high, value)

    return change


def _check_ids(where: str, ids: Any) -> None:
    for name in unknown_ids(ids):
        raise UserError(f"{where}: there is no alert '{name}'{did_you_mean(name, IDS)}")


def _plateau(config: RunConfig, catalogue: Catalogue) -> Plateau:
    plan = config.plateau
    assert plan is not None
    known = [path for path, _ in config.schedules() if path.startswith("algo.")]
    for action in plan.actions:
        if action.setting not in known:
            raise UserError(
                f"plateau: '{action.setting}' cannot change while training"
                f"{did_you_mean(action.setting, known)}"
            )
    spec = catalogue.find(plan.monitor)
    if spec is None or spec.better is None:
        rated = [spec.key for spec in catalogue if spec.better]
        problem = "has no better direction" if spec else "is no metric"
        raise UserError(
            f"plateau.monitor: {plan.monitor} {problem}{did_you_mean(plan.monitor, rated)}"
        )
    return Plateau(
        spec.better, plan.patience_steps, plan.min_delta, plan.cooldown_steps, len(plan.actions)
    )
