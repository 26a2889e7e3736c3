"""The truth: every row and every event of a run, appended to its folder at full precision."""

from collections.abc import Mapping
from dataclasses import asdict
from time import monotonic
from typing import Any, Final

from spotter.recorder import Ending, Row, Start
from spotter.rundir.files import LineWriter
from spotter.rundir.run import Run
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

    def open(self, start: Start) -> None:
        self._rows = LineWriter(self._run.metrics_path)

    def note(self, text: str) -> None:
        self._run.event("note", {"text": text})

    def row(self, row: Row) -> None:
        assert self._rows is not None, "rows come after open()"
        self._rows.write(row.as_data())
        for alert in row.alerts:
            if alert.id not in self._alerted:
                self._alerted.add(alert.id)
                self._run.event("alert", {**asdict(alert), "env_steps": row.env_steps})
        self._last_row = row
        if monotonic() - self._last_beat >= _HEARTBEAT_S:
            self._beat()

    def _beat(self) -> None:
        """How far it is, for those who look at it meanwhile or after a kill."""
        self._last_beat, row = monotonic(), self._last_row
        if row is not None:
            merit = row.metrics.get("merit/steps_to_threshold")
            self._run.update(
                env_steps=row.env_steps,
                vector_steps=row.vector_steps,
                steps_to_threshold=None if merit is None else int(merit),
            )

    def evaluation(self, evaluation: Evaluation) -> None:
        self._run.event("evaluation", evaluation.certificate())

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
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
