"""One run as every command, page and tool shows it: the one place where its numbers are derived.

The command line, the report, the digest, the doctor, Studio and MCP present a `RunView`; none of
them reads or computes these numbers itself. It reads when asked and never twice; `refresh` gives a
new one. What cannot be read is left out and named in `problems`. No torch, no environments.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spotter.config import from_older
from spotter.metrics.spec import Catalogue, MetricSpec
from spotter.rundir import alerts, checkpoints, evaluations, identity, judged, lineage, trained
from spotter.rundir.alerts import Alert, Raised
from spotter.rundir.catalogue import catalogue
from spotter.rundir.checkpoints import Checkpoint
from spotter.rundir.evaluations import Evaluations, Score
from spotter.rundir.history import History
from spotter.rundir.identity import Info
from spotter.rundir.judged import Judged
from spotter.rundir.lines import last_record, read_lines
from spotter.rundir.run import Run
from spotter.rundir.values import finite, text, whole
from spotter.types import UserError

Event = Mapping[str, Any]


@dataclass(frozen=True)
class Budget:
    """What a run may spend; None where there is no limit."""

    env_steps: int | None
    minutes: float | None


@dataclass(frozen=True)
class Change:
    """A setting that changed on the way."""

    setting: str
    before: Any
    after: object
    env_steps: int | None
    why: str
    by_alert: bool
    """Whether an alert asked for it; otherwise a resume."""


class RunView:
    """A snapshot of one run; `UserError` if its folder holds no run."""

    def __init__(self, run: Run, history: History | None = None) -> None:
        self.run = run
        self.info: Info = run.info()
        """run.json, every field, as it is now."""
        self._history = history
        self._problems: dict[str, list[str]] = {}

    def refresh(self) -> "RunView":
        """The run as it is now; rows that were read are not read again."""
        return RunView(self.run, self.history.refresh())

    # --- files -----------------------------------------------------------------------------------

    @cached_property
    def history(self) -> History:
        """Every metric as a column."""
        return self._history or History(self.run.metrics_path).refresh()

    @cached_property
    def last_row(self) -> Mapping[str, Any]:
        """The last line of metrics.jsonl, as it was written; empty before the first update."""
        return last_record(self.run.metrics_path)

    @cached_property
    def events(self) -> tuple[Event, ...]:
        return tuple(read_lines(self.run.events_path, self._problems_of("events")))

    @cached_property
    def written(self) -> Mapping[str, Any]:
        """config.yaml as plain data, as the run saved it; empty if it cannot be read."""
        try:
            return self.run.written()
        except (UserError, OSError, AssertionError) as error:
            self._problems_of("config").append(f"config.yaml cannot be read: {error}")
            return {}

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """`written` in today's names, with the settings that are younger than the run."""
        return from_older(dict(self.written)) if self.written else {}

    @cached_property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Oldest first."""
        return checkpoints.read(self.run.folder, self._problems_of("checkpoints"))

    @cached_property
    def spaces(self) -> Mapping[str, Mapping[str, object]]:
        """`observation` and `action` as the newest checkpoint describes them."""
        return checkpoints.spaces(self.run.folder)

    @cached_property
    def catalogue(self) -> Catalogue:
        """What its metrics mean."""
        return catalogue([text(self.info["algo"])])

    @property
    def config_problem(self) -> str:
        """Why config.yaml cannot be read; empty where it can."""
        self.written  # noqa: B018  # read now, if not yet
        return "; ".join(self._problems_of("config"))

    def spec(self, key: str) -> MetricSpec:
        return self.catalogue.find(key) or MetricSpec(key, "")

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence about each thing that could not be read; looks at every file."""
        self.config, self.events, self.checkpoints  # noqa: B018  # read now, if not yet
        parts = ("config", "events", "checkpoints")
        found = [sentence for part in parts for sentence in self._problems_of(part)]
        found += [*self._evaluations.problems, self.history.problem]
        if self.steps_before is None:
            found.append("how many env steps its ancestors were trained for is not known here")
        return tuple(filter(None, found))

    def _problems_of(self, part: str) -> list[str]:
        return self._problems.setdefault(part, [])

    # --- who and how far -------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self.run.id

    @property
    def status(self) -> str:
        return text(self.info["status"])

    @property
    def env_steps(self) -> int:
        return int(self.info["env_steps"])

    @property
    def updates(self) -> int:
        return self.history.updates

    @cached_property
    def budget(self) -> Budget:
        written = self.config.get("budget")
        budget = written if isinstance(written, Mapping) else {}
        return Budget(whole(budget.get("env_steps")), finite(budget.get("minutes")))

    @property
    def progress(self) -> float | None:
        """Share of the budget that is spent; None without one."""
        spent = []
        if self.budget.env_steps:
            spent.append(self.env_steps / self.budget.env_steps)
        if self.budget.minutes:
            spent.append(self.elapsed_s / (60 * self.budget.minutes))
        return min(1.0, max(spent)) if spent else None

    @property
    def elapsed_s(self) -> float:
        """How long it was trained; the pauses between sessions do not count."""
        return identity.seconds(self.info)

    @property
    def phase(self) -> str:
        """What it does now: training, evaluating …; empty where its process is gone."""
        return "" if self.status in ("silent", "failed") else text(self.info["phase"])

    @property
    def train_s(self) -> float | None:
        """Seconds of collecting and learning; None of runs that did not count them."""
        return _positive(self.last_row, "time/train_s")

    @property
    def fps(self) -> float | None:
        """Env steps per second of collecting and learning, over the whole run."""
        return fps_of(self.last_row)

    @property
    def wall_fps(self) -> float | None:
        """Env steps per second of everything: evaluation, saving and waiting included."""
        return wall_fps_of(self.last_row)

    @property
    def eta_s(self) -> float | None:
        """Seconds until its end, evaluations and test included; None unless it trains."""
        return _positive(self.last_row, "time/eta_s") if self.status == "running" else None

    # --- scores ----------------------------------------------------------------------------------

    @cached_property
    def _evaluations(self) -> Evaluations:
        return evaluations.read(self.events)

    @property
    def evaluations(self) -> tuple[Score, ...]:
        """Every one that belongs to the run, on seeds of all kinds, in the order they were made."""
        return self._evaluations.scores

    @cached_property
    def threshold(self) -> float | None:
        """The score that counts as solved."""
        level = finite(self.info["threshold"])
        env = self.config.get("env") if level is None else None
        return finite(env.get("threshold")) if isinstance(env, Mapping) else level

    @property
    def solved(self) -> bool | None:
        """Whether the weights it keeps reach the threshold on test seeds; None if not tested."""
        solved = self.info["solved"]
        return solved if isinstance(solved, bool) else None

    @cached_property
    def test(self) -> Judged | None:
        """Of the weights it keeps, on test seeds."""
        return judged.test(self.info)

    @cached_property
    def tested(self) -> Score | None:
        """The evaluation on test seeds that its score is from."""
        return self._evaluations.last("test", self.info["score"])

    @cached_property
    def best(self) -> Judged | None:
        """Of the weights it keeps, on the seeds they were chosen by."""
        return judged.best(self.info)

    @property
    def score(self) -> Judged | None:
        """What the run is judged by: its test, else its best evaluation."""
        return self.test or self.best

    @property
    def last_score(self) -> float | None:
        """Evaluation score of its last weights, where these are not the ones it keeps."""
        return finite(self.info["last_score"])

    @cached_property
    def at_start(self) -> Score | None:
        """The evaluation of the weights it began with; only a fork's are evaluated."""
        return next((score for score in self.evaluations if score.env_steps == 0), None)

    @cached_property
    def at_end(self) -> Score | None:
        """The latest evaluation of the last weights that have one, kept or not."""
        return max(reversed(self.evaluations), key=lambda score: score.env_steps, default=None)

    @property
    def fingerprint(self) -> str:
        """Of the game its score was played in; empty if it was never scored."""
        scored = self.tested or (self.evaluations[-1] if self.evaluations else None)
        return scored.fingerprint if scored else ""

    @property
    def steps_to_threshold(self) -> int | None:
        """Env steps until an evaluation first reached the threshold."""
        return whole(self.info["steps_to_threshold"])

    @property
    def train_steps_to_threshold(self) -> int | None:
        """Env steps until the mean of the last training episodes first did."""
        return whole(self.info["train_steps_to_threshold"])

    @property
    def total_steps_to_threshold(self) -> int | None:
        """`steps_to_threshold` with the env steps of all ancestors."""
        return whole(self.info["total_steps_to_threshold"])

    # --- what happened ---------------------------------------------------------------------------

    @cached_property
    def alerts(self) -> tuple[Alert, ...]:
        """Each once, sorted by id."""
        return alerts.read(self._raised, self.history)

    @property
    def raised(self) -> tuple[Event, ...]:
        """Each time an alert was raised, as it was written, in that order."""
        return tuple(self._raised.events)

    @cached_property
    def _raised(self) -> Raised:
        return alerts.raised(self.events)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """Settings that changed on the way, by a resume or by an alert, in the order they did."""
        return tuple(_changes(self.events))

    @cached_property
    def changed(self) -> trained.Changed:
        """Settings learning depends on that a resume changed, with their env steps."""
        return trained.changed(self.info)

    @property
    def parent(self) -> Mapping[str, object] | None:
        """Where its first weights came from: {run, checkpoint, env_steps, …}."""
        parent: Mapping[str, object] | None = self.info["parent"]
        return parent

    @cached_property
    def steps_before(self) -> int | None:
        """Env steps of its ancestors, up to the checkpoints their children began with."""
        return lineage.steps_before(self.run.folder.parent, self.parent)


def fps_of(row: Mapping[str, Any]) -> float | None:
    """Env steps per second of collecting and learning up to a row, over the whole run."""
    steps, seconds = _positive(row, "env_steps"), _positive(row, "time/train_s")
    # older versions wrote down the speed of the last updates only
    return steps / seconds if steps and seconds else _positive(row, "time/fps")


def wall_fps_of(row: Mapping[str, object]) -> float | None:
    """Env steps per second of everything up to a row."""
    return _positive(row, "time/wall_fps")


def _positive(row: Mapping[str, object], key: str) -> float | None:
    value = finite(row.get(key))
    return value if value is not None and value >= 0 else None


def _changes(events: Iterable[Event]) -> Iterator[Change]:
    for event in events:
        steps, why = whole(event.get("env_steps")), text(event.get("why"))
        if event.get("event") == "change":
            name = text(event.get("setting"))
            yield Change(name, event.get("before"), event.get("after"), steps, why, True)
        elif event.get("event") == "resume":
            for name, (before, after) in trained.pairs(event).items():
                yield Change(name, before, after, steps, why, False)
