"""The truth: every row and every event of a run, appended to its folder at full precision.

Rows of long ago are thinned now and then, see rundir/thinning.py.
"""

from collections.abc import Mapping
from dataclasses import asdict
from time import monotonic
from typing import Final

from spotter.rundir import thinning
from spotter.rundir.files import LineWriter, StorageError
from spotter.rundir.run import Run
from spotter.sinks.base import Ending, Row, Start
from spotter.types import Evaluation

_HEARTBEAT_S: Final = 5.0


class Jsonl:
    """Writes metrics.jsonl and events.jsonl, and keeps run.json's heartbeat going."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._rows: LineWriter | None = None
        self._last_beat = monotonic()
        self._alerted: set[str] = set()
        self._last_row: Row | None = None
        self._said: set[str] = set()
        self._reached = False
        """Whether the last row said when the training score reached the threshold."""

    def open(self, start: Start) -> None:
        self._rows = LineWriter(self._run.metrics_path)

    def note(self, text: str) -> None:
        self._run.event("note", {"text": text})

    def row(self, row: Row) -> str | None:
        assert self._rows is not None, "rows come after open()"
        is_behind_others = self._rows.write(row.as_data())
        remark = None
        if not is_behind_others:
            remark = self._remark_once(
                "metrics.jsonl was deleted or replaced while training: earlier rows are gone, and "
                f"a new file begins with update {row.update:,}"
            )
        if thinning.is_due(row.update):
            remark = self._thin(self._rows, row.update) or remark
        for alert in row.alerts:
            if alert.id not in self._alerted:
                self._alerted.add(alert.id)
                self._run.event("alert", {**asdict(alert), "env_steps": row.env_steps})
        self._last_row = row
        reached = "merit/train_steps_to_threshold" in row.metrics
        if reached != self._reached or monotonic() - self._last_beat >= _HEARTBEAT_S:
            self._reached = reached
            self._beat()
        return remark

    def amend(self, metrics: Mapping[str, float]) -> bool:
        """Whether there is a last row; it is written again with these numbers."""
        assert self._rows is not None, "rows come after open()"
        with self._rows.paused():
            last = self._run.take_last_row()
        if last:
            self._rows.write({**last, **metrics})
        return bool(last)

    def _thin(self, rows: LineWriter, update: int) -> str | None:
        """A disk that is too full for it is no reason to end a training."""
        try:
            with rows.paused():
                thinning.thin(self._run.metrics_path, update)
        except StorageError as error:
            return self._remark_once(f"older rows could not be thinned: {error}")
        return None

    def _remark_once(self, remark: str) -> str | None:
        """The first of its kind; a file that is deleted again and again is one remark."""
        kind = remark.partition(":")[0]
        if kind in self._said:
            return None
        self._said.add(kind)
        return remark

    def _beat(self) -> None:
        """How far it is, for those who look at it meanwhile or after a kill."""
        self._last_beat, row = monotonic(), self._last_row
        if row is not None:
            merit = row.metrics.get("merit/train_steps_to_threshold")
            self._run.update(
                env_steps=row.env_steps,
                vector_steps=row.vector_steps,
                train_steps_to_threshold=None if merit is None else int(merit),
            )

    def evaluation(self, evaluation: Evaluation) -> None:
        self._run.event("evaluation", evaluation.certificate())
        if evaluation.solved:
            self._run.reach(evaluation.env_steps)

    def event(self, kind: str, data: Mapping[str, object]) -> None:
        self._run.event(kind, data)
        if kind == "checkpoint":
            self._beat()

    def close(self, ending: Ending | None) -> None:
        if self._rows is not None:
            self._rows.close()
        if ending is not None:
            counts = [
                {**asdict(count.last), "updates": count.updates, "share": count.share}
                for count in ending.alerts
            ]
            self._run.event("alerts", {"counts": counts})
            self._run.event("end", {"reason": ending.reason, "env_steps": ending.env_steps})
