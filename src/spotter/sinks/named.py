"""Sinks that a config names: `sinks: [tensorboard, {name: my_module, …}]`.

Where numbers go besides the run's folder must not decide how a run ends: a sink that fails is left
out from then on, and a note says so.
"""

from collections.abc import Callable, Mapping, Sequence

from spotter import plugins
from spotter.config import SinkConfig
from spotter.sinks.base import Ending, Row, Sink, Start
from spotter.text.echo import echo
from spotter.types import Evaluation, UserError


def make(configs: Sequence[SinkConfig]) -> list[Sink]:
    """Before a run has a folder: a missing package is a mistake in the config."""
    return [
        Named(config.name, plugins.load("sinks", config.name).make(config)) for config in configs
    ]


class Named:
    """Stands before a sink and takes its errors."""

    def __init__(self, name: str, sink: Sink) -> None:
        self._name = name
        self._sink: Sink | None = sink
        self._remark: str | None = None
        """For the next row, which can say it to everyone."""

    def open(self, start: Start) -> None:
        assert self._sink is not None
        try:
            self._sink.open(start)
        except UserError:
            raise
        except Exception as error:
            raise UserError(f"sinks: {self._name} cannot begin: {_words(error)}") from error

    def note(self, text: str) -> None:
        self._try(lambda sink: sink.note(text))

    def row(self, row: Row) -> str | None:
        said = self._try(lambda sink: sink.row(row))
        remark, self._remark = self._remark, None
        return remark or said

    def evaluation(self, evaluation: Evaluation) -> None:
        self._try(lambda sink: sink.evaluation(evaluation))

    def event(self, kind: str, data: Mapping[str, object]) -> None:
        self._try(lambda sink: sink.event(kind, data))

    def close(self, ending: Ending | None) -> None:
        self._try(lambda sink: sink.close(ending))
        if self._remark:
            echo(f"spotter: {self._remark}", err=True)

    def _try(self, what: Callable[[Sink], str | None]) -> str | None:
        if self._sink is None:
            return None
        try:
            return what(self._sink)
        except Exception as error:  # third-party code: training is worth more than a mirror of it
            self._sink = None
            self._remark = f"sink {self._name} failed and is left out from here: {_words(error)}"
            return None


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
