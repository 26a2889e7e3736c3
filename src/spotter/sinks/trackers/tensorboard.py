"""TensorBoard: every number of every update as event files, in the folder `tensorboard` of the run.

`tensorboard --logdir runs` shows all runs.
"""

from typing import Any

from spotter.config import SinkConfig
from spotter.plugins import require
from spotter.sinks.base import Ending, Row, Sink, Start
from spotter.types import UserError


def make(config: SinkConfig) -> "TensorBoard":
    require("tensorboard", extra="tensorboard")
    return TensorBoard()


class TensorBoard(Sink):
    """Writes numbers over env steps; a resumed run replaces what it trains again."""

    _writer: Any

    def open(self, start: Start) -> None:
        from torch.utils.tensorboard import SummaryWriter

        if start.run is None:
            raise UserError(
                "sinks: tensorboard writes into the folder of the run, and this one has none: "
                "leave out --no-save or this sink"
            )
        folder = str(start.run.folder / "tensorboard")
        self._writer = SummaryWriter(folder, purge_step=start.env_steps + 1)

    def row(self, row: Row) -> None:
        for key, value in row.metrics.items():
            self._writer.add_scalar(key, value, row.env_steps)

    def close(self, ending: Ending | None) -> None:
        self._writer.close()
