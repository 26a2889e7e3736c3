"""One run that is about to be trained, whether the command line or Python asked for it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from spotter.config import LauncherConfig, Resolved, RunConfig
from spotter.rundir import identity
from spotter.rundir.run import Run
from spotter.sinks.console import Console
from spotter.training.resume import Fork, Origin, Resume
from spotter.training.run import Result, train
from spotter.types import UserError


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

    @property
    def resumed(self) -> Run | None:
        """The run it continues, if it does."""
        return self.origin.saved.run if isinstance(self.origin, Resume) else None

    @property
    def launcher(self) -> LauncherConfig | None:
        """What starts it; None where that is this process, or has done so."""
        return None if identity.launch() else self.config.launch

    def train(self, quiet: bool, save: bool = True) -> Result:
        refuse_launch(self.config)
        sinks = () if quiet else (Console(),)
        new_run = self.new_run if save else None
        return train(self.config, sinks, new_run, self.origin, self.written, self.notes)


def refuse_launch(config: RunConfig) -> None:
    """Where this process trains and was not started for it by the launcher."""
    if config.launch is not None and not identity.launch():
        raise UserError(
            f"launch={config.launch.name} is for `spotter train`, Studio and agents; this call "
            "trains in this process: leave it out, or set launch to null"
        )
