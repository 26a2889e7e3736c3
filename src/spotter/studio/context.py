"""What every page is given: the door to the runs, the process that computes, what starts runs."""

from dataclasses import dataclass, field
from typing import Final

from spotter.launch.dispatch import Dispatcher
from spotter.launch.worker import Worker
from spotter.rundir.access import Access
from spotter.rundir.histories import Histories

PATIENCE_S: Final = 60.0
"""How long a page may take to build; on a machine that trains, seconds are nothing unusual."""


@dataclass(frozen=True)
class Context(Access):
    """One per server."""

    worker: Worker
    histories: Histories = field(default_factory=Histories)
    dispatcher: Dispatcher = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dispatcher", Dispatcher(self.runs))
