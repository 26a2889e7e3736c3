"""One run that is about to be trained, whether the command line or Python asked for it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from spotter.config import Resolved, RunConfig
from spotter.rundir.run import Run
from spotter.sinks.console import Console
from spotter.training.resume import Fork, Origin, Resume
from spotter.training.run import Result, train


@dataclass(frozen=True)
class Plan:
    """What is trained, from what it starts, and the run folder it gets."""

    address: str
    config: RunConfig
    new_run: Callable[[], Run]
    origin: Origin | None = None
    written: frozenset[str] = frozenset()
    """Settings given for this very run."""
    notes: tuple[str, ...] = ()

    @classmethod
    def of_new(cls, resolved: Resolved, origin: Fork | None, why: str, group: str) -> "Plan":
        address, config = resolved.address, resolved.config

        def new_run() -> Run:
            parent = origin.parent() if origin else None
            return Run.create(config, address, sys.argv, parent=parent, why=why, group=group)

        return cls(address, config, new_run, origin, resolved.written, resolved.notes)

    @classmethod
    def of_resumed(cls, origin: Resume, why: str) -> "Plan":
        address = str(origin.saved.run.info()["address"])
        return cls(address, origin.config, lambda: origin.take_up(sys.argv, why), origin)

    @property
    def fork(self) -> Fork | None:
        """The other run it begins with, if it does."""
        return self.origin if isinstance(self.origin, Fork) else None

    def train(self, quiet: bool, save: bool = True) -> Result:
        sinks = () if quiet else (Console(),)
        new_run = self.new_run if save else None
        return train(self.config, sinks, new_run, self.origin, self.written, self.notes)
